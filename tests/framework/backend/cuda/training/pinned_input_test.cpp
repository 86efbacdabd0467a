// Batches in pinned memory, which the GPU copies from where they lie.

#include <cstring>

#include "belfry/framework/base/sole_owner.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

// Copies the batches of another stream into memory of its context that goes round.
class IntoPinned final : public InputStream {
 public:
  IntoPinned(InputStreamPtr source, AllocateHost allocate)
      : source_(std::move(source)), allocate_(std::move(allocate)) {}

  bool next(Features& batch) override {
    batch.clear();
    if (!source_->next(plain_)) return false;
    for (const auto& [name, array] : plain_) {
      const std::shared_ptr<void>& memory = free_memory();
      std::memcpy(memory.get(), array.raw(), static_cast<std::size_t>(array.bytes()));
      batch.set(name, Array(array.type(), memory.get(), memory));
    }
    return true;
  }

 private:
  const std::shared_ptr<void>& free_memory() {
    for (const auto& memory : memory_)
      if (sole_owner(memory)) return memory;
    return memory_.emplace_back(allocate_(Bytes(1 << 16)));
  }

  InputStreamPtr source_;
  AllocateHost allocate_;
  std::vector<std::shared_ptr<void>> memory_;
  Features plain_;
};

InputFn into_pinned(const InputFn& source) {
  return [source](const InputContext& context) -> InputStreamPtr {
    return std::make_unique<IntoPinned>(source(context), context.allocate_host);
  };
}

// 19200 bytes of x, and 9600 in every sixth batch.
InputFn wide_digits() { return digits({8, 8, 8, 8, 8, 4}, 600); }

TEST(CudaPinnedInput, GivesTheSameBits) {
  RunConfig eager = on("cuda");
  eager.capture_steps = false;
  for (const RunConfig& config : {on("cuda"), eager}) {
    Trained plain = train_on(config, 20, 0, wide_digits());
    expect_same(train_on(config, 20, 0, into_pinned(wide_digits())), plain);
    expect_same(train_on(config, 20, 1, into_pinned(wide_digits())), plain);
  }
}

TEST(CudaPinnedInput, IsEvaluatedAndPredicted) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    if (mode == Mode::predict) return {.predictions = {{"x", batch["x"] * 2}}};
    return resuming_model(std::move(s), batch, mode);
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on("cuda")});
  estimator.train(wide_digits(), {.max_steps = 3});
  InputFn plain = wide_digits(), pinned = into_pinned(plain);
  for (const char* value : {"loss", "accuracy"})
    EXPECT_EQ(estimator.evaluate(pinned, {.steps = 7}).at(value),
              estimator.evaluate(plain, {.steps = 7}).at(value));
  auto a = estimator.predict(pinned), b = estimator.predict(plain);
  Features of_pinned, of_plain;
  for (int row = 0; row < 50; ++row) {
    ASSERT_TRUE(a.next(of_pinned) && b.next(of_plain));
    EXPECT_TRUE(identical(of_pinned.at("x"), of_plain.at("x"))) << row;
  }
}

TEST(CudaPinnedInput, MemoryKeepsItsDevice) {
  // Less than ever is free, whatever other processes take of a real GPU.
  const Bytes limit(find_device("cuda")->memory_limit().count / 4);
  std::shared_ptr<void> memory;
  {
    TemporaryFolder folder;
    RunConfig config = on("cuda");
    config.memory_limit = limit;
    Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = config});
    InputFn input = [&](const InputContext& context) {
      memory = context.allocate_host(Bytes(100));
      return over_and_over({one_point()})(context);
    };
    estimator.train(input, {.max_steps = 1});
  }
  EXPECT_EQ(find_device("cuda")->memory_limit(), limit);
  EXPECT_TRUE(find_device("cuda")->is_pinned(memory.get()));
  memory.reset();
  EXPECT_GT(find_device("cuda")->memory_limit(), limit);
}

}  // namespace
}  // namespace belfry
