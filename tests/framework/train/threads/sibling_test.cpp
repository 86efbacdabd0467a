// Estimator::sibling(), beside the training of the one that it was made from.

#include <atomic>
#include <thread>

#include "../comparing.h"

namespace belfry {
namespace {

EstimatorSpec classifier(Scope s, const Batch& batch, Mode) {
  Tensor hidden = relu(dense(s / "hidden", batch["x"], {.units = 8}));
  Tensor logits = dense(s / "logits", hidden, {.units = 3});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 0.1}),
          .metrics = {{"accuracy", accuracy(batch["label"], argmax(logits, 1))}}};
}

RunConfig saving_often() {
  RunConfig config = on_cpus(1, 1);
  config.save_checkpoint = Steps(2);
  config.keep_checkpoints.newest = 2;
  return config;
}

struct Sibling : ::testing::Test {
  InputFn input = over_and_over({labelled_rows(12, 0), labelled_rows(12, 1)});
  InputFn test = once({labelled_rows(12, 2), labelled_rows(5, 3)});
  TemporaryFolder dir;
  CapturedLog log;
  Estimator estimator{{.model_fn = classifier, .model_dir = dir.path(), .run = saving_often()}};
};

TEST_F(Sibling, EvaluatesWhatTheFirstSaved) {
  std::unique_ptr<Estimator> other = estimator.sibling(on_cpus(2, 1));
  EXPECT_EQ(other->model_dir(), dir.path());
  EXPECT_EQ(other->config().devices.size(), 2u);
  other = estimator.sibling(on_cpus(1, 1));
  for (std::int64_t steps : {4, 8}) {  // goes on with the newest
    estimator.train(input, {.max_steps = steps});
    EvalResult own = estimator.evaluate(test), its = other->evaluate(test);
    EXPECT_EQ(its.at("global_step"), static_cast<double>(steps));
    for (const auto& [name, value] : own) EXPECT_TRUE(identical(value, its.array(name))) << name;
  }
  // Its variables are its own.
  NamedArrays before;
  for (const std::string& name : estimator.variable_names())
    before[name] = estimator.variable_value(name);
  other->train(input, {.steps = 1});
  for (const auto& [name, value] : before)
    EXPECT_TRUE(identical(value, estimator.variable_value(name))) << name;
}

// Also when the model_fn is overridden, and the first values are those of a warm start.
TEST_F(Sibling, HasTheModelAndItsFirstValues) {
  estimator.train(input, {.max_steps = 4});
  struct Derived final : Estimator {
    using Estimator::Estimator;
    EstimatorSpec model_fn(Scope s, const Batch& batch, Mode mode) override {
      ++calls;
      return classifier(std::move(s), batch, mode);
    }
    std::atomic<int> calls = 0;
  };
  TemporaryFolder fresh;
  Derived derived({.model_dir = fresh.path(),
                   .run = saving_often(),
                   .warm_start = WarmStart{.from = dir.path()}});
  std::unique_ptr<Estimator> other = derived.sibling(saving_often());
  EXPECT_EQ(other->evaluate(test).at("loss"), estimator.evaluate(test).at("loss"));
  EXPECT_GT(derived.calls, 0);
}

// Checkpoints are replaced all the time; each evaluation is of a whole one.
TEST_F(Sibling, EvaluatesWhileTheFirstTrains) {
  std::unique_ptr<Estimator> other = estimator.sibling(saving_often());
  TrainControl control;
  std::vector<std::pair<std::int64_t, double>> found;  // step, loss
  struct Keep final : CheckpointListener {
    explicit Keep(std::string f) : folder(std::move(f)) {}
    void after_save(HookContext& context, const std::string& path) override {
      std::filesystem::copy_file(path, checkpoint_path(folder, context.step()));
    }
    std::string folder;
  };
  TemporaryFolder all;
  std::jthread evaluator([&] {
    while (control.progress().step < 2) std::this_thread::yield();
    for (int i = 0; i < 8; ++i) {
      EvalResult result = other->evaluate(test);
      found.emplace_back(static_cast<std::int64_t>(result.at("global_step")), result.at("loss"));
    }
    control.request_stop();
  });
  estimator.train(input, {.listeners = {std::make_shared<Keep>(all.path())}, .control = &control});
  evaluator.join();
  ASSERT_EQ(found.size(), 8u);
  for (const auto& [step, loss] : found)
    EXPECT_EQ(
        estimator.evaluate(test, {.checkpoint = checkpoint_path(all.path(), step)}).at("loss"),
        loss);
}

}  // namespace
}  // namespace belfry
