// Pipelines that end in prefetch_to_device, whose batches an emulated GPU copies as late as CUDA
// allows.

#include <atomic>

#include "../emulated/emulated_api.h"
#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

// 304 rows of x [256] in batches of 64 and a last one of 48, over and over. All of a batch are the
// same small whole number, so that every sum and mean of `falling` is exact on any device.
Dataset whole_numbers() {
  auto read = [](std::int64_t i, Features& out) {
    Array x(Shape{256}, DType::f32);
    for (float& v : x.span<float>()) v = static_cast<float>(i / 64 % 4);
    out.set("x", x);
  };
  return data::indexed(304, read) | data::batch(64) | data::repeat();
}

// Noise around the place that label names.
Dataset wide_digits() {
  auto read = [](std::int64_t i, Features& out) {
    Array x(Shape{300}, DType::f32);
    PhiloxStream random(philox_key(3, static_cast<std::uint64_t>(i)));
    for (float& v : x.span<float>())
      v = static_cast<float>(random.normal()) + static_cast<float>(i % 4);
    out.set("x", x);
    out.set("label", Array::scalar(i % 4));
  };
  return data::indexed(150, read) | data::shuffle(50) | data::batch(32) | data::repeat();
}

RunConfig on_towers(const std::string& kind, BatchPolicy policy) {
  RunConfig config = on(kind);
  config.devices = {kind + ":0", kind + ":1"};
  config.batch = policy;
  config.capture_steps = false;
  return config;
}

TEST(EmulatedPrefetchToDevice, GivesTheBitsOfTheCpu) {
  auto train = [](const std::string& device, const Dataset& data) {
    return train_on(on(device), 20, 0, data, falling);
  };
  Trained cpu = train("cpu", whole_numbers());
  EXPECT_EQ(cpu.losses[0], 0);
  EXPECT_EQ(cpu.losses[1], 8);
  EXPECT_EQ(cpu.losses[2], 2 * 7.75);
  expect_same(train("cpu", whole_numbers() | data::prefetch_to_device()), cpu);
  expect_same(train("cuda", whole_numbers()), cpu);
  expect_same(train("cuda", whole_numbers() | data::prefetch_to_device()), cpu);
  expect_same(train("cuda", whole_numbers() | data::prefetch_to_device({.buffers = 1})), cpu);
}

TEST(EmulatedPrefetchToDevice, GivesTheBitsOfPlainMemory) {
  Dataset prefetched = wide_digits() | data::prefetch_to_device();
  expect_same(train_on(on("cuda"), 20, 0, prefetched), train_on(on("cuda"), 20, 0, wide_digits()));
  for (BatchPolicy policy : {BatchPolicy::per_worker, BatchPolicy::per_tower}) {
    RunConfig towers = on_towers("cuda", policy);
    expect_same(train_on(towers, 12, 0, prefetched), train_on(towers, 12, 0, wide_digits()));
  }
}

// Two batches ahead, one that is being made, and two a tower: of this step and the one before.
TEST(EmulatedPrefetchToDevice, SoonAllocatesNothing) {
  for (int towers : {1, 2}) {
    std::atomic<int> allocations = 0;
    InputFn counted = [&](InputContext context) {
      context.allocate_host = [&, allocate = context.allocate_host](Bytes size) {
        ++allocations;
        return allocate(size);
      };
      return (wide_digits() | data::prefetch_to_device()).open(context);
    };
    RunConfig config = towers == 1 ? on("cuda") : on_towers("cuda", BatchPolicy::per_tower);
    train_on(config, 20, 0, counted);
    EXPECT_GE(allocations, 2);
    EXPECT_LE(allocations, 2 + 1 + 2 * towers) << towers;
  }
}

}  // namespace
}  // namespace belfry
