#include "belfry/framework/backend/cuda/stream.h"

#include <array>

#include "../../base/error_of.h"
#include "recording_api.h"

namespace belfry::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct CudaStream : ::testing::Test {
  RecordingApi api;
  std::unique_ptr<Stream> stream = make_stream(api, 1);  // stream 1
};

TEST_F(CudaStream, CopiesWaitForNothing) {
  EXPECT_THAT(api.take_calls(), ElementsAre("use 1", "create stream 1"));
  std::array<int, 2> from{1, 2}, there{}, back{};
  stream->copy_to_device(there.data(), from.data(), Bytes(8));
  stream->copy_on_device(back.data(), there.data(), Bytes(8));
  stream->copy_to_host(from.data(), back.data(), Bytes(8));
  stream->copy_to_device(nullptr, nullptr, Bytes(0));
  EXPECT_EQ(back, from);
  EXPECT_THAT(api.calls,
              ElementsAre("use 1", "copy 8 to device on stream 1", "use 1",
                          "copy 8 on device on stream 1", "use 1", "copy 8 to host on stream 1"));
}

TEST_F(CudaStream, OneWaitsForAnotherThroughAnEvent) {
  auto other = make_stream(api, 1);
  auto event = make_event(api, 1);
  api.take_calls();
  stream->record(*event);
  other->wait(*event);
  event->synchronize();
  EXPECT_TRUE(event->done());
  EXPECT_THAT(api.calls, ElementsAre("record event 3 on stream 1", "stream 2 waits for event 3",
                                     "synchronize event 3"));
}

TEST_F(CudaStream, RangesGoToTheProfiler) {
  api.take_calls();
  stream->push_range("down1");
  stream->pop_range();
  EXPECT_THAT(api.calls, ElementsAre("range down1", "end of range"));
}

TEST_F(CudaStream, ACapturedStepIsOneLaunch) {
  std::array<int, 2> a{}, b{};
  api.take_calls();
  EXPECT_TRUE(stream->can_capture());
  stream->begin_capture();
  stream->copy_on_device(a.data(), b.data(), Bytes(8));
  auto step = stream->end_capture();
  EXPECT_THAT(api.take_calls(),
              ElementsAre("capture on stream 1", "use 1", "copy 8 on device on stream 1",
                          "end of capture on stream 1", "create graph 2"));
  stream->replay(*step);
  stream->replay(*step);
  EXPECT_THAT(api.take_calls(),
              ElementsAre("launch graph 2 on stream 1", "launch graph 2 on stream 1"));
  step.reset();
  EXPECT_THAT(api.calls, ElementsAre("destroy graph 2"));
}

TEST_F(CudaStream, NobodyWaitsWithinACapture) {
  stream->begin_capture();
  EXPECT_THROW(stream->synchronize(), Error);
  EXPECT_THROW(stream->begin_capture(), Error);
  stream->end_capture();
  EXPECT_THROW(stream->end_capture(), Error);
  stream->synchronize();
  EXPECT_EQ(api.calls.back(), "synchronize stream 1");
}

TEST_F(CudaStream, ItsWorkIsDoneBeforeItGoes) {
  api.take_calls();
  stream.reset();
  EXPECT_THAT(api.calls, ElementsAre("use 1", "synchronize stream 1", "destroy stream 1"));
  EXPECT_THAT(api.alive, IsEmpty());
}

}  // namespace
}  // namespace belfry::cuda
