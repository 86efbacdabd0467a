// Training N steps, then N more, is bit-identical to training 2N steps.

#include <memory>
#include <new>
#include <utility>

#include "belfry/data/data.h"
#include "belfry/framework/base/file.h"
#include "resuming_model.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

struct Losses final : Hook {
  void after_step(const StepResult& r) override { seen.push_back(r.loss); }
  std::string name() const override { return "losses"; }
  std::string state() const override { return text(seen.size()); }
  std::vector<double> seen;
};

// A new Estimator for each number of steps, as if each were a process of its own.
std::vector<double> train_in_parts(const std::string& dir, const std::vector<std::int64_t>& parts,
                                   RunConfig config = quiet()) {
  std::vector<double> losses;
  for (std::int64_t steps : parts) {
    Estimator estimator({.model_fn = resuming_model, .model_dir = dir, .run = config});
    auto hook = std::make_shared<Losses>();
    estimator.train(shuffled_digits, {.steps = steps, .hooks = {hook}});
    losses.insert(losses.end(), hook->seen.begin(), hook->seen.end());
  }
  return losses;
}

std::string final_bytes(const TemporaryFolder& dir, std::int64_t step) {
  return read_file(checkpoint_path(dir.path(), step));
}

// Without the state of the hook, which counts by process.
void expect_same_state(const TemporaryFolder& a, const TemporaryFolder& b, std::int64_t step) {
  Checkpoint x = load_checkpoint(checkpoint_path(a.path(), step)),
             y = load_checkpoint(checkpoint_path(b.path(), step));
  EXPECT_EQ(x.input, y.input);
  ASSERT_EQ(x.variables.size(), y.variables.size());
  for (const auto& [name, value] : x.variables)
    EXPECT_TRUE(identical(value, y.variables.at(name))) << name;
}

TEST(Resume, InPartsIsTheSameAsAtOnce) {
  TemporaryFolder whole, halves, bits;
  std::vector<double> expected = train_in_parts(whole.path(), {24});
  EXPECT_EQ(train_in_parts(halves.path(), {12, 12}), expected);
  EXPECT_EQ(train_in_parts(bits.path(), {1, 4, 1, 1, 6, 11}), expected);  // within epochs, too
  expect_same_state(whole, halves, 24);
  expect_same_state(whole, bits, 24);
  EXPECT_LT(expected.back(), expected.front());
}

// Tables of which a step touches some rows, with slots that wait.
TEST(Resume, TablesGoOnAsTheyStood) {
  for (const Optimizer& optimizer :
       {adagrad({.learning_rate = 0.1}), adam({.learning_rate = 0.01, .lazy = true})}) {
    ModelFn model = [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Tensor ids = cast(abs(batch["x"] * 20), DType::i64);  // [n, 6], below 1000
      Tensor found = embedding(s / "words", ids, {.rows = 1000, .width = 3});
      Tensor logits = dense(s / "out", mean(found, {.axes = {1}}), {.units = 4});
      return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
              .train = optimizer};
    };
    TemporaryFolder whole, parts;
    auto train = [&](const TemporaryFolder& dir, const std::vector<std::int64_t>& lengths) {
      for (std::int64_t steps : lengths)
        Estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()})
            .train(shuffled_digits, {.steps = steps});
    };
    train(whole, {12});
    train(parts, {5, 1, 6});
    expect_same_state(whole, parts, 12);
  }
}

TEST(Resume, WorkersDoNotChangeTheWeights) {
  TemporaryFolder one;
  train_in_parts(one.path(), {15});
  for (int workers : {1, 8}) {
    TemporaryFolder many;
    Estimator estimator({.model_fn = resuming_model, .model_dir = many.path(), .run = quiet()});
    estimator.train([&] { return shuffled_digits_of(workers); },
                    {.steps = 15, .hooks = {std::make_shared<Losses>()}});
    expect_same_state(one, many, 15);
  }
}

TEST(Resume, OneEstimatorMayGoOnByItself) {
  TemporaryFolder whole, again;
  train_in_parts(whole.path(), {20});
  Estimator estimator({.model_fn = resuming_model, .model_dir = again.path(), .run = quiet()});
  for (std::int64_t steps : {7, 13}) {
    estimator.train(shuffled_digits, {.steps = steps, .hooks = {std::make_shared<Losses>()}});
    estimator.evaluate([] { return InputStreamPtr(shuffled_digits()); }, {.steps = 3});
  }
  expect_same_state(whole, again, 20);
}

TEST(Resume, EqualRunsGiveEqualFiles) {
  TemporaryFolder a, b;
  train_in_parts(a.path(), {9});
  train_in_parts(b.path(), {9});
  EXPECT_EQ(final_bytes(a, 9), final_bytes(b, 9));
  RunConfig other = quiet();
  other.seed = 2;
  TemporaryFolder c;
  EXPECT_NE(train_in_parts(c.path(), {9}, other), train_in_parts(a.path(), {9}));
}

TEST(Resume, AnEarlierCheckpointRepeatsWhatFollowed) {
  TemporaryFolder dir;
  std::vector<double> expected = train_in_parts(dir.path(), {10}, saving_every(4));
  for (std::int64_t step : {8, 10}) std::filesystem::remove(checkpoint_path(dir.path(), step));
  std::vector<double> repeated = train_in_parts(dir.path(), {6}, saving_every(4));
  EXPECT_EQ(repeated, std::vector<double>(expected.begin() + 4, expected.end()));
}

TEST(Resume, TheFirstCheckpointStandsBeforeTheFirstBatch) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_every(2)});
  InputFn input = over_and_over({one_point(1), one_point(2), one_point(3)});
  estimator.train(input, {.steps = 2});
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 0)).input, "0");
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 2)).input, "2");
  std::filesystem::remove(checkpoint_path(dir.path(), 2));
  Estimator again({.model_fn = falling, .model_dir = dir.path(), .run = saving_every(2)});
  again.train(input, {.steps = 2});
  EXPECT_EQ(scalar(again, "w"), 8 - 0.25 * (1 + 2));
}

TEST(Resume, TheInputMayBeginAnewOnDemand) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  InputFn input = over_and_over({one_point(1), one_point(2)});
  estimator.train(input, {.steps = 1});
  estimator.train(input, {.steps = 1, .resume_input = false});
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * (1 + 1));
}

TEST(Resume, APositionThatDoesNotFitSaysWhatToDo) {
  struct Unable final : InputStream {
    bool next(Features& batch) override { return batch = one_point(), true; }
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  auto other = [] { return std::make_unique<Unable>(); };
  EXPECT_THAT(error_of([&] { estimator.train(other, {.steps = 1}); }),
              ::testing::HasSubstr("(while restoring the input position of the checkpoint; train "
                                   "with .resume_input = false to begin the data anew)"));
  EXPECT_EQ(estimator.train(other, {.steps = 1, .resume_input = false}).global_step, 2);
}

// ---- failures between two steps

TEST(Resume, AFailureOfTheInputCostsNoFinishedStep) {
  struct FailsOnce final : InputStream {
    explicit FailsOnce(bool& f) : failed(f) {}
    bool next(Features& batch) override {
      batch = one_point(static_cast<float>(++next_));
      require(next_ != 3 || std::exchange(failed, true), "disk 3 is gone");
      return true;
    }
    std::string save() const override { return text(next_); }
    void restore(const std::string& state) override { next_ = std::stoi(state); }
    bool& failed;
    int next_ = 0;
  };
  TemporaryFolder dir;
  bool failed = false;
  auto input = [&] { return std::make_unique<FailsOnce>(failed); };
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(error_of([&] { estimator.train(input, {.steps = 4}); }),
            "disk 3 is gone (in training step 3)");
  EXPECT_EQ(estimator.train(input, {.steps = 2}).global_step, 4);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * (1 + 2 + 4 + 5));  // the third was consumed
}

TEST(Resume, ABatchWithoutMemoryIsReadAgain) {
  TemporaryFolder dir;
  auto was_short = std::make_shared<bool>();
  auto number = [=](Features in) {
    auto i = in.begin()->second.span<std::int64_t>()[0];
    if (i == 2 && !std::exchange(*was_short, true)) throw std::bad_alloc();
    return one_point(static_cast<float>(i + 1));
  };
  RunConfig config = quiet();
  config.save_checkpoint = {};  // nothing else brings the steps back
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = config});
  Dataset input = data::range(9) | data::map(number);
  EXPECT_THROW(estimator.train(input, {.steps = 4}), std::bad_alloc);
  EXPECT_EQ(estimator.train(input, {.steps = 2}).global_step, 4);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * (1 + 2 + 3 + 4));
}

TEST(Resume, ABadBatchIsPassedAlsoWhenItIsTheFirst) {
  struct TwoBad final : InputStream {
    bool next(Features& batch) override {
      batch = one_point(static_cast<float>(++next_));
      require(next_ > 2, "batch ", next_, " is bad");
      return true;
    }
    std::string save() const override { return text(next_); }
    void restore(const std::string& state) override { next_ = std::stoi(state); }
    int next_ = 0;
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  auto input = [] { return std::make_unique<TwoBad>(); };
  for (const char* error : {"batch 1 is bad", "batch 2 is bad"})
    EXPECT_EQ(error_of([&] { estimator.train(input, {.steps = 1}); }),
              concat(error, " (in training step 1)"));
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 1);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * 3);
}

TEST(Resume, AnInputThatCannotSayWhereItStandsCostsTheSteps) {
  struct Mute final : InputStream {
    bool next(Features& batch) override { return batch = one_point(), ++next_ < 4; }
    std::string save() const override {
      require(next_ < 2, "which file was it?");
      return text(next_);
    }
    int next_ = 0;
  };
  TemporaryFolder dir;
  TrainControl control;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(error_of([&] {
              estimator.train([] { return std::make_unique<Mute>(); },
                              {.steps = 2, .control = &control});
            }),
            "which file was it?");
  EXPECT_FALSE(control.progress().running);
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).global_step, 1);
}

TEST(Resume, ASaveThatFailsCostsNoFinishedStep) {
  struct FullDisk final : CheckpointListener {
    void before_save(HookContext& context) override {
      require(context.step() != 2 || std::exchange(once, false) == false, "no space left");
    }
    bool once = true;
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_every(2)});
  InputFn input = over_and_over({one_point(1), one_point(2), one_point(3)});
  EXPECT_EQ(error_of([&] {
              estimator.train(input, {.steps = 3, .listeners = {std::make_shared<FullDisk>()}});
            }),
            "no space left (in training step 2)");
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 3);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * (1 + 2 + 3));
}

// ---- the end of the data

class EndOfData : public ::testing::Test {
 protected:
  TrainResult train(TrainOptions options = {}) {
    Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_every(3)});
    return estimator.train(once({one_point(), one_point(), one_point()}), options);
  }
  TemporaryFolder dir;
};

TEST_F(EndOfData, IsRememberedAcrossProcesses) {
  EXPECT_EQ(train().global_step, 3);
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 3)).input, "");
  EXPECT_EQ(train().global_step, 6);
}

TEST_F(EndOfData, AStepLimitBeginsTheDataAnew) {
  EXPECT_EQ(train({.max_steps = 3}).global_step, 3);  // has read all, but not met the end
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 3)).input, "3");
  EXPECT_EQ(train({.max_steps = 5}).global_step, 5);
}

TEST_F(EndOfData, WithoutALimitTheDataAreDoneOnce) {
  train({.max_steps = 3});
  EXPECT_EQ(train().steps, 0);
  EXPECT_EQ(load_checkpoint(checkpoint_path(dir.path(), 3)).input, "");
  EXPECT_EQ(train().global_step, 6);
}

// Somebody else writes a newer checkpoint while a training goes on: what the training's own hooks
// ask of the estimator leaves its variables alone. The next call begins with it.
TEST(TrainingUnderWay, KeepsItsVariables) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_nothing()});
  struct Asks final : Hook {
    explicit Asks(Estimator& e) : estimator(e) {}
    void after_step(const StepResult& result) override {
      if (result.step == 1) {
        write_checkpoint(checkpoint_path(estimator.model_dir(), 50),
                         {.variables = {{"w", Array::scalar(100.0f)}}, .step = 50});
      }
      values.push_back(scalar(estimator, "w"));
    }
    Estimator& estimator;
    std::vector<double> values;
  };
  auto asks = std::make_shared<Asks>(estimator);
  EXPECT_EQ(
      estimator.train(over_and_over({one_point()}), {.steps = 3, .hooks = {asks}}).global_step, 3);
  EXPECT_THAT(asks->values, ::testing::ElementsAre(7.75, 7.5, 7.25));
  EXPECT_EQ(scalar(estimator, "w"), 100);
  // A training that could not begin is none under way.
  write_checkpoint(
      checkpoint_path(dir.path(), 60),
      {.variables = {{"w", Array::scalar(60.0f)}}, .step = 60, .input = "no position"});
  EXPECT_THROW(estimator.train(over_and_over({one_point()}), {.steps = 1}), std::exception);
  write_checkpoint(checkpoint_path(dir.path(), 70),
                   {.variables = {{"w", Array::scalar(70.0f)}}, .step = 70});
  EXPECT_EQ(scalar(estimator, "w"), 70);
}

// The host may keep a training that has failed while the estimator has gone on.
TEST(TrainingUnderWay, MayOutliveTheEstimatorsVariables) {
  TemporaryFolder dir;
  CapturedLog log;
  struct Thrower final : Hook {
    void after_step(const StepResult&) override { fail("broken"); }
  };
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_nothing()});
  Training failed =
      estimator.start(over_and_over({one_point()}), {.hooks = {std::make_shared<Thrower>()}});
  EXPECT_THAT(error_of([&] { failed.step(); }), ::testing::HasSubstr("broken"));
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).global_step, 1);
  EXPECT_EQ(failed.finish().outcome, Outcome::failed);
}

}  // namespace
}  // namespace belfry
