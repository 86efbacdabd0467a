// Memory of a GPU: limits, what is given back, and reductions of a single member.

#include "belfry/framework/backend/communicator.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

void train_a_little(const std::string& dir) {
  Estimator estimator({.model_fn = resuming_model, .model_dir = dir, .run = on("cuda")});
  estimator.train(digits(), {.max_steps = 7});
}

TEST(CudaMemory, IsGivenBack) {
  auto device = find_device("cuda");
  Bytes before = device->memory_in_use();
  for (int run = 0; run < 3; ++run) {
    TemporaryFolder folder;
    train_a_little(folder.path());
    EXPECT_EQ(device->memory_in_use().count, before.count) << run;
  }
}

// From nothing at all up to enough: each limit is refused in so many words, and harms nobody.
TEST(CudaMemory, AnyLimitIsRefusedOrSuffices) {
  auto device = find_device("cuda");
  Bytes before = device->memory_in_use(), all = device->memory_limit();
  Trained undisturbed = train_on(on("cuda"), 7);
  int refused = 0;
  bool trained = false;
  for (std::int64_t limit = 1; !trained; limit += limit / 4 + 1) {
    device->set_memory_limit(Bytes(before.count + limit));
    TemporaryFolder folder;
    std::string error = error_of([&] { train_a_little(folder.path()); });
    trained = error == "no error";
    if (!trained) {
      EXPECT_THAT(error, AnyOf(HasSubstr("out of memory"), HasSubstr("would fit"),
                               HasSubstr("does not fit")));
      ++refused;
    }
    EXPECT_EQ(device->memory_in_use().count, before.count) << limit;
  }
  device->set_memory_limit(all);
  EXPECT_GT(refused, 10);
  expect_same(train_on(on("cuda"), 7), undisturbed);
}

// 256 TiB are more than any GPU has, and than a process has addresses.
TEST(CudaMemory, AGpuThatHasNoMoreIsToldAndHarmsNobody) {
  auto device = find_device("cuda");
  Bytes before = device->memory_in_use(), all = device->memory_limit();
  Trained undisturbed = train_on(on("cuda"), 7);
  const Bytes too_much(std::int64_t{1} << 48);
  device->set_memory_limit(Bytes(2 * too_much.count));
  EXPECT_THAT(error_of([&] { device->allocate(too_much, "all of it"); }),
              AllOf(HasSubstr("all of it: out of memory on cuda:0"), HasSubstr("256.0 TiB asked")));
  EXPECT_THAT(error_of([&] { device->allocate_host(too_much); }),
              HasSubstr("could not allocate 256.0 TiB"));
  device->set_memory_limit(all);
  EXPECT_EQ(device->memory_in_use().count, before.count);
  expect_same(train_on(on("cuda"), 7), undisturbed);
}

// As far as one GPU goes: the reduction is made, started, waited for, and is its operand.
TEST(CudaMemory, AReductionOfOneMemberIsItsOperand) {
  auto device = find_device("cuda");
  Device* member = device.get();
  auto communicator = device->make_communicator(std::span(&member, 1), {.timeout_seconds = 60});
  auto stream = device->make_stream();
  const std::vector<float> values{1, -2, 3.5f, 0};
  Bytes size(static_cast<std::int64_t>(values.size() * sizeof(float)));
  DeviceMemory memory = device->allocate(size, "operand");
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::first}) {
    Bucket bucket{.name = "bucket", .segments = {{memory.data(), 4}}, .op = op};
    auto collective = communicator->all_reduce(0, bucket);
    stream->copy_to_device(memory.data(), values.data(), size);
    for (int step = 0; step < 3; ++step) {
      collective->start(*stream);
      collective->finish(*stream);
    }
    std::vector<float> back(values.size());
    stream->copy_to_host(back.data(), memory.data(), size);
    stream->synchronize();
    EXPECT_EQ(back, values);
  }
}

}  // namespace
}  // namespace belfry
