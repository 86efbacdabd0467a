// Inputs in pinned memory, on a GPU that copies as late as CUDA allows: whoever lets go of them too
// early gets wrong numbers.

#include "belfry/framework/runtime/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../../base/error_of.h"
#include "../emulated/emulated_api.h"
#include "belfry/framework/base/sole_owner.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

constexpr std::int64_t large = 8191;  // floats; rows begin at odd places

class StagedInputs : public ::testing::Test {
 protected:
  Executable make(const std::vector<Tensor>& outputs) {
    return Executable(compile(outputs, {}, store.device(), {}), store, 7);
  }
  // Rank 1, all elements the same.
  static Array filled(Array array, float value) {
    for (float& x : array.span<float>()) x = value;
    return array;
  }
  static Array plain(float value, std::int64_t size = large) {
    return filled(Array({size}, DType::f32), value);
  }
  Array pinned(float value, std::int64_t size = large) {
    auto memory = device->allocate_host(Bytes(4 * size));
    return filled(Array({{size}, DType::f32}, memory.get(), memory), value);
  }
  // Copies to the GPU in a step. Others are into place, of each result, and of all of them down.
  static int uploads(Executable& run, const Features& batch) {
    int before = cuda::emulated_api().counts().copies;
    run.enqueue(batch, {.capture = false});
    run.collect();
    int others = 2 + static_cast<int>(run.output_count());
    return cuda::emulated_api().counts().copies - before - others;
  }

  Graph graph;
  std::shared_ptr<Device> device = find_device("cuda");
  VariableStore store{device};
  Tensor a = input(graph, "a", {{large}, DType::f32});
  Tensor b = input(graph, "b", {{1}, DType::f32});
  Tensor c = input(graph, "c", {{large}, DType::f32});
};

TEST_F(StagedInputs, TravelByThemselvesWherePinned) {
  Executable run = make({max(a), max(b), max(c)});
  auto expect = [&](int wanted, const Features& batch) {
    EXPECT_EQ(uploads(run, batch), wanted);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(run.output(i).item(), batch.at(std::string(1, "abc"[i])).at(0)) << i;
  };
  for (int step = 0; step < 3; ++step) {
    auto v = static_cast<float>(10 * step);
    expect(1, {{"a", plain(v + 1)}, {"b", plain(v + 2, 1)}, {"c", plain(v + 3)}});
    expect(2, {{"a", pinned(v + 1)}, {"b", plain(v + 2, 1)}, {"c", plain(v + 3)}});
    expect(2, {{"a", plain(v + 1)}, {"b", plain(v + 2, 1)}, {"c", pinned(v + 3)}});
    // The host copies what is small.
    expect(3, {{"a", pinned(v + 1)}, {"b", pinned(v + 2, 1)}, {"c", pinned(v + 3)}});
  }
}

TEST_F(StagedInputs, MayBeRowsOfABatch) {
  Executable run = make({max(a), max(c)});
  auto memory = device->allocate_host(Bytes(4 * 3 * large));
  Array batch({{3, large}, DType::f32}, memory.get(), memory);
  for (std::int64_t row = 0; row < 3; ++row) filled(batch.row(row), static_cast<float>(row));
  EXPECT_EQ(uploads(run, {{"a", batch.rows(1, 1).reshape({large})}, {"c", batch.row(2)}}), 2);
  EXPECT_EQ(run.output(0).item(), 1);
  EXPECT_EQ(run.output(1).item(), 2);
}

TEST_F(StagedInputs, MayBePinnedForAnotherGpu) {
  device = find_device("cuda:1");
  Executable run = make({max(a)});
  EXPECT_EQ(uploads(run, {{"a", pinned(5)}}), 1);
  EXPECT_EQ(run.output(0).item(), 5);
}

TEST_F(StagedInputs, AreHeldUntilTheStepIsCollected) {
  auto memory = device->allocate_host(Bytes(4 * large));
  std::weak_ptr<void> alive = memory;
  Features batch{{"a", filled(Array({{large}, DType::f32}, memory.get(), memory), 3)}};
  memory.reset();
  Executable run = make({max(a)});
  run.enqueue(std::exchange(batch, {}), {});
  EXPECT_FALSE(alive.expired());
  run.enqueue({{"a", plain(4)}}, {});
  EXPECT_FALSE(alive.expired());
  run.collect();
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(run.output(0).item(), 3);
  run.collect();
  EXPECT_EQ(run.output(0).item(), 4);
}

TEST_F(StagedInputs, AreHeldUntilTheExecutableGoes) {
  auto memory = device->allocate_host(Bytes(4 * large));
  std::weak_ptr<void> alive = memory;
  {
    Executable run = make({max(a)});
    run.enqueue({{"a", filled(Array({{large}, DType::f32}, memory.get(), memory), 3)}}, {});
    memory.reset();
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(StagedInputs, OfAStepThatIsBegunAnewAreLetGo) {
  Executable run = make({max(a), max(c)});
  auto memory = device->allocate_host(Bytes(4 * large));
  std::weak_ptr<void> alive = memory;
  Features wrong{{"a", Array({{large}, DType::f32}, memory.get(), memory)}, {"c", plain(1, 2)}};
  memory.reset();
  EXPECT_THAT(error_of([&] { run.enqueue(wrong, {}); }), ::testing::HasSubstr("feature `c`"));
  wrong = {};
  run.enqueue({{"a", plain(8)}, {"c", plain(9)}}, {});
  EXPECT_TRUE(alive.expired());
  run.collect();
  EXPECT_EQ(run.output(0).item(), 8);
}

// As a pipeline does that runs ahead: memory is written again as soon as nobody holds it.
TEST_F(StagedInputs, AreNotOverwrittenTooEarly) {
  Executable run = make({max(a), min(a)});
  std::vector<std::shared_ptr<void>> all;
  auto next = [&](float value) {
    for (auto& memory : all)
      if (sole_owner(memory))
        return filled(Array({{large}, DType::f32}, memory.get(), memory), value);
    auto& memory = all.emplace_back(device->allocate_host(Bytes(4 * large)));
    return filled(Array({{large}, DType::f32}, memory.get(), memory), value);
  };
  for (int step = 0; step < 60; ++step) {
    run.enqueue({{"a", next(static_cast<float>(step))}}, {});
    next(-1);
    if (step == 0) continue;
    run.collect();
    ASSERT_EQ(run.output(0).item(), step - 1);
    ASSERT_EQ(run.output(1).item(), step - 1);
  }
  EXPECT_LE(all.size(), 3u);
}

}  // namespace
}  // namespace belfry
