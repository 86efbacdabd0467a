#include "belfry/framework/train/hook.h"

#include <limits>

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes what happens to it into a log that several hooks share.
struct Recorder : Hook {
  Recorder(std::string n, std::vector<std::string>& l) : label(std::move(n)), log(l) {}
  void begin(HookContext& c) override { log.push_back(concat(label, ".begin ", c.step())); }
  void on_gradients(GradientStage& s) override {
    log.push_back(concat(label, ".on_gradients ", s.gradients.size()));
  }
  void before_step(StepRequest& r) override { log.push_back(concat(label, ".before ", r.step)); }
  void after_step(const StepResult& r) override { log.push_back(concat(label, ".after ", r.step)); }
  void end(HookContext&, Outcome o) override { log.push_back(concat(label, ".end ", o)); }
  std::string label;
  std::vector<std::string>& log;
};

class Hooking : public ::testing::Test {
 protected:
  Estimator& make(RunConfig config = quiet(), ModelFn model = falling) {
    estimator_ = std::make_unique<Estimator>(
        EstimatorOptions{.model_fn = std::move(model), .model_dir = dir.path(), .run = config});
    return *estimator_;
  }
  std::shared_ptr<Recorder> recorder(const std::string& name) {
    return std::make_shared<Recorder>(name, log);
  }
  TemporaryFolder dir;
  std::vector<std::string> log;
  InputFn input = over_and_over({one_point()});

 private:
  std::unique_ptr<Estimator> estimator_;
};

// ---- order

TEST_F(Hooking, OrderIsUsersThenSpecsThenSaver) {
  auto model = [&](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.hooks = {recorder("spec")};
    return spec;
  };
  struct Listener final : CheckpointListener {
    explicit Listener(std::vector<std::string>& l) : log(l) {}
    void before_save(HookContext& c) override { log.push_back(concat("save ", c.step())); }
    void after_save(HookContext&, const std::string& path) override {
      log.push_back("saved " + std::filesystem::path(path).filename().string());
    }
    std::vector<std::string>& log;
  };
  make(saving_every(2), model)
      .train(input, {.steps = 3,
                     .hooks = {recorder("a"), recorder("b")},
                     .listeners = {std::make_shared<Listener>(log)}});
  EXPECT_THAT(
      log, ElementsAre("a.on_gradients 1", "b.on_gradients 1", "spec.on_gradients 1", "a.begin 0",
                       "b.begin 0", "spec.begin 0", "save 0", "saved checkpoint-0.safetensors",
                       "a.before 0", "b.before 0", "spec.before 0", "a.after 1", "b.after 1",
                       "spec.after 1", "a.before 1", "b.before 1", "spec.before 1", "a.after 2",
                       "b.after 2", "spec.after 2", "save 2", "saved checkpoint-2.safetensors",
                       "a.before 2", "b.before 2", "spec.before 2", "a.after 3", "b.after 3",
                       "spec.after 3", "save 3", "saved checkpoint-3.safetensors",
                       "spec.end finished", "b.end finished", "a.end finished"));
}

TEST_F(Hooking, UsersSeeAStepBeforeTheGuardJudgesIt) {
  InputFn bad = over_and_over({one_point(std::numeric_limits<float>::quiet_NaN())});
  EXPECT_NE(error_of([&] { make().train(bad, {.hooks = {recorder("a")}}); }), "no error");
  EXPECT_THAT(
      log, ElementsAre("a.on_gradients 1", "a.begin 0", "a.before 0", "a.after 1", "a.end failed"));
}

TEST_F(Hooking, TheLogLineComesEverySoManySteps) {
  RunConfig config = quiet();
  config.log_step_count = Steps(2);
  CapturedLog captured;
  make(config).train(input, {.steps = 5});
  EXPECT_THAT(captured.info,
              AllOf(HasSubstr("step 2: loss = 7.75, "), HasSubstr("step 4: loss = 7.25, "),
                    HasSubstr(" steps/s, "), HasSubstr("%, compute "), HasSubstr("%, apply ")));
  EXPECT_THAT(captured.info, ::testing::Not(HasSubstr("step 3: loss")));
}

// ---- ends

struct Thrower final : Hook {
  enum class At { begin, before, after, end };
  Thrower(At a, std::int64_t s, std::string t = "broken") : at(a), step(s), text(std::move(t)) {}
  void begin(HookContext&) override { throw_if(At::begin, 0); }
  void before_step(StepRequest& r) override { throw_if(At::before, r.step + 1); }
  void after_step(const StepResult& r) override { throw_if(At::after, r.step); }
  void end(HookContext&, Outcome) override { throw_if(At::end, 0); }
  void throw_if(At here, std::int64_t s) const { require(here != at || s != step, text); }
  At at;
  std::int64_t step;
  std::string text;
};

TEST_F(Hooking, AfterAFailureEveryHookEndsOnceInReverse) {
  for (auto at : {Thrower::At::before, Thrower::At::after}) {
    log.clear();
    TemporaryFolder folder;
    Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = quiet()});
    Hooks hooks{recorder("a"), std::make_shared<Thrower>(at, 3), recorder("b")};
    EXPECT_EQ(error_of([&] { estimator.train(input, {.hooks = hooks}); }),
              "broken (in training step 3)");
    log.erase(log.begin(), std::find(log.begin(), log.end(), "a.before 2") + 1);
    if (at == Thrower::At::before)
      EXPECT_THAT(log, ElementsAre("b.end failed", "a.end failed"));
    else
      EXPECT_THAT(log, ElementsAre("b.before 2", "a.after 3", "b.end failed", "a.end failed"));
    EXPECT_THAT(saved_steps(folder.path()), ElementsAre(0));  // not at the end of a failure
  }
}

TEST_F(Hooking, OnlyHooksThatBeganEnd) {
  Hooks hooks{recorder("a"), std::make_shared<Thrower>(Thrower::At::begin, 0), recorder("b")};
  EXPECT_EQ(error_of([&] { make().train(input, {.hooks = hooks}); }),
            "broken (in training step 1)");
  EXPECT_THAT(log,
              ElementsAre("a.on_gradients 1", "b.on_gradients 1", "a.begin 0", "a.end failed"));
}

TEST_F(Hooking, AFailureAtAnEndDoesNotHinderTheOthers) {
  Hooks hooks{recorder("a"), std::make_shared<Thrower>(Thrower::At::end, 0, "second"),
              recorder("b"), std::make_shared<Thrower>(Thrower::At::end, 0, "first")};
  CapturedLog captured;
  EXPECT_EQ(error_of([&] { make().train(input, {.steps = 1, .hooks = hooks}); }), "first");
  EXPECT_THAT(captured.warnings, HasSubstr("a hook failed at its end: second"));
  EXPECT_THAT(log, ElementsAre("a.on_gradients 1", "b.on_gradients 1", "a.begin 0", "b.begin 0",
                               "a.before 0", "b.before 0", "a.after 1", "b.after 1", "b.end failed",
                               "a.end failed"));
}

TEST_F(Hooking, TheFailureOfTheStepIsTheOneReported) {
  Hooks hooks{std::make_shared<Thrower>(Thrower::At::after, 1, "the cause"),
              std::make_shared<Thrower>(Thrower::At::end, 0, "the aftermath")};
  CapturedLog captured;
  EXPECT_EQ(error_of([&] { make().train(input, {.hooks = hooks}); }),
            "the cause (in training step 1)");
  EXPECT_THAT(captured.warnings, HasSubstr("a hook failed at its end: the aftermath"));
}

TEST_F(Hooking, AnyKindOfExceptionEndsTheHooks) {
  struct Odd final : Hook {
    void before_step(StepRequest&) override { throw 7; }
  };
  EXPECT_THROW(make().train(input, {.hooks = {recorder("a"), std::make_shared<Odd>()}}), int);
  EXPECT_EQ(log.back(), "a.end failed");
}

// ---- gradients

struct ScaleGradients final : Hook {
  explicit ScaleGradients(double f) : factor(f) {}
  void on_gradients(GradientStage& stage) override {
    for (VariableGradient& g : stage.gradients) g.gradient = g.gradient * factor;
  }
  double factor;
};

TEST_F(Hooking, GradientsMayBeEdited) {
  Estimator& estimator = make();
  estimator.train(input, {.steps = 1, .hooks = {std::make_shared<ScaleGradients>(2)}});
  EXPECT_EQ(scalar(estimator, "w"), 7.5);
  estimator.train(input, {.steps = 3, .hooks = {std::make_shared<ScaleGradients>(0)}});
  EXPECT_EQ(scalar(estimator, "w"), 7.5);  // frozen
  Hooks both{std::make_shared<ScaleGradients>(4), std::make_shared<ScaleGradients>(0.5)};
  estimator.train(input, {.steps = 1, .hooks = both});
  EXPECT_EQ(scalar(estimator, "w"), 7);
}

TEST_F(Hooking, GradientsMayBeClippedAndDropped) {
  struct Clip final : Hook {
    void on_gradients(GradientStage& stage) override {
      stage.gradients = clip_by_global_norm(stage.gradients, 0.5).gradients;
    }
  };
  struct Drop final : Hook {
    void on_gradients(GradientStage& stage) override { stage.gradients.clear(); }
  };
  Estimator& estimator = make();
  estimator.train(over_and_over({one_point(100)}),
                  {.steps = 2, .hooks = {std::make_shared<Clip>()}});
  EXPECT_EQ(scalar(estimator, "w"), 8 - 2 * 0.25 * 0.5);
  estimator.train(input, {.steps = 2, .hooks = {std::make_shared<Drop>()}});
  EXPECT_EQ(scalar(estimator, "w"), 7.75);
}

// ---- updates

EstimatorSpec two_losses(Scope s, const Batch& batch, Mode) {
  Variable a = s.variable("a", {.initializer = constant_value(8)});
  Variable b = s.variable("b", {.initializer = constant_value(8)});
  Tensor loss_a = mean(a.value() * batch["x"]), loss_b = mean(b.value() * batch["x"]);
  return {.loss = loss_a + loss_b,
          .train = {minimize(loss_a, sgd({.learning_rate = 1}), {a}),
                    minimize(loss_b, sgd({.learning_rate = 0.5}), {b})}};
}

TEST_F(Hooking, BeforeStepChoosesTheUpdates) {
  struct Choose final : Hook {
    void before_step(StepRequest& r) override {
      EXPECT_EQ(r.updates, 2u);
      EXPECT_EQ(r.chosen, (UpdateSet{0, 1}));
      const UpdateSet plan[] = {{0, 1}, {0}, {1}, {}, {0, 1, 2}};
      r.chosen = plan[r.step];
    }
  };
  Estimator& estimator = make(quiet(), two_losses);
  auto after = [&](std::int64_t step) {
    estimator.train(input, {.max_steps = step, .hooks = {std::make_shared<Choose>()}});
    return std::pair(scalar(estimator, "a"), scalar(estimator, "b"));
  };
  EXPECT_EQ(after(1), std::pair(7.0, 7.5));
  EXPECT_EQ(after(2), std::pair(6.0, 7.5));
  EXPECT_EQ(after(3), std::pair(6.0, 7.0));
  EXPECT_EQ(after(4), std::pair(6.0, 7.0));  // none; the step counts all the same
  EXPECT_EQ(after(5), std::pair(5.0, 6.5));  // updates that the model does not have mean nothing
}

// ---- stopping

TEST_F(Hooking, AHookMayStopTraining) {
  struct Stop final : Hook {
    void after_step(const StepResult& r) override {
      if (r.step == 3) r.request_stop("loss is flat");
      if (r.step == 3) r.request_stop("a later reason");
    }
  };
  TrainResult result =
      make().train(input, {.max_steps = 10, .hooks = {std::make_shared<Stop>(), recorder("a")}});
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.reason, "loss is flat");
  EXPECT_EQ(result.global_step, 3);
  EXPECT_EQ(log.back(), "a.end stopped");
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 3));
}

TEST_F(Hooking, AHookMayStopBeforeTheFirstStep) {
  struct Stop final : Hook {
    void begin(HookContext& c) override { c.request_stop("not today"); }
  };
  Estimator& estimator = make();
  TrainResult result = estimator.train(input, {.hooks = {std::make_shared<Stop>()}});
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.reason, "not today");
  EXPECT_EQ(scalar(estimator, "w"), 8);
}

TEST_F(Hooking, NaNAndInfinityStopTraining) {
  struct Case {
    float x;
    const char* word;
  };
  for (Case c : {Case{std::numeric_limits<float>::quiet_NaN(), "NaN"},
                 Case{std::numeric_limits<float>::infinity(), "infinite"}}) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = saving_every(1)});
    Features good = one_point();
    EXPECT_EQ(error_of([&] {
                estimator.train(once({good, good, one_point(c.x)}));
              }),
              concat("the loss is ", c.word,
                     " after step 3; a smaller learning rate or gradient clipping may help; "
                     "RunConfig::check_numerics names the first op that produced it (in training "
                     "step 3)"));
    EXPECT_THAT(saved_steps(folder.path()), ElementsAre(0, 1, 2));
    EXPECT_EQ(estimator.train(over_and_over({good}), {.steps = 1}).global_step, 3);  // from 2
    EXPECT_EQ(scalar(estimator, "w"), 8 - 3 * 0.25);
  }
}

TEST_F(Hooking, ValuesAreGuardedToo) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.values = {{"ratio", belfry::log(mean(batch["y"]))}};
    return spec;
  };
  EXPECT_THAT(error_of([&] { make(quiet(), model).train(over_and_over({one_point(1, -1)})); }),
              HasSubstr("ratio is NaN after step 1"));
}

TEST_F(Hooking, CheckNumericsNamesTheOp) {
  RunConfig config = quiet();
  config.check_numerics = true;
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    Tensor bad = belfry::matmul(belfry::log(batch["y"]), batch["x"]);
    EstimatorSpec spec = falling(s, batch, mode);
    spec.loss = spec.loss + mean(bad);
    return spec;
  };
  EXPECT_THAT(error_of([&] { make(config, model).train(over_and_over({one_point(1, -1)})); }),
              HasSubstr("log: element 0 of output 0 (f32[1, 1]) is nan"));
}

// ---- state

struct Counter final : Hook {
  void after_step(const StepResult&) override { ++count; }
  std::string name() const override { return "counter"; }
  std::string state() const override { return text(count); }
  void restore(const std::string& state) override { count = std::stoi(state); }
  int count = 0;
};

TEST_F(Hooking, StateLivesInTheCheckpoint) {
  Estimator& estimator = make();
  auto first = std::make_shared<Counter>();
  estimator.train(input, {.steps = 3, .hooks = {first}});
  auto second = std::make_shared<Counter>();
  estimator.train(input, {.steps = 2, .hooks = {second}});
  EXPECT_EQ(second->count, 5);
  make().train(input, {.steps = 4});  // without the hook: its state is kept for it
  auto third = std::make_shared<Counter>();
  make().train(input, {.steps = 1, .hooks = {third}});
  EXPECT_EQ(third->count, 6);
}

TEST_F(Hooking, AStateThatCannotBeRestoredIsNamed) {
  struct Picky final : Hook {
    std::string name() const override { return "picky"; }
    std::string state() const override { return "x"; }
    void restore(const std::string& s) override { fail("cannot read `", s, "`"); }
  };
  auto picky = std::make_shared<Picky>();
  make().train(input, {.steps = 1, .hooks = {picky}});
  EXPECT_THAT(error_of([&] { make().train(input, {.steps = 1, .hooks = {picky}}); }),
              HasSubstr("cannot read `x` (while restoring the state of hook picky from entry "));
}

TEST_F(Hooking, NamesAreUniqueAndHooksNotNull) {
  Hooks twins{std::make_shared<Counter>(), std::make_shared<Counter>()};
  EXPECT_THAT(error_of([&] { make().train(input, {.steps = 1, .hooks = twins}); }),
              HasSubstr("train: two hooks are named `counter`, so their states in a checkpoint "
                        "could not be told apart"));
  EXPECT_EQ(error_of([&] { make().train(input, {.steps = 1, .hooks = {nullptr}}); }),
            "train: a hook is null");
  auto same = std::make_shared<Counter>();
  EXPECT_EQ(error_of([&] {
              make().train(input, {.steps = 1, .hooks = {same, same}});
            }),
            "train: a hook is given twice: `counter`");
}

TEST_F(Hooking, AListenerHearsOnce) {
  auto listener = std::make_shared<CheckpointListener>();
  EXPECT_EQ(error_of([&] {
              make().train(input, {.steps = 1, .listeners = {listener, listener}});
            }),
            "train: a checkpoint listener is given twice, and would hear all twice; give it once");
}

TEST_F(Hooking, ListenersNeedCheckpoints) {
  CheckpointListeners listeners{std::make_shared<CheckpointListener>()};
  EXPECT_EQ(
      error_of([&] { make(saving_nothing()).train(input, {.steps = 1, .listeners = listeners}); }),
      "train: there are checkpoint listeners but RunConfig::save_checkpoint is off");
}

TEST_F(Hooking, ValuesAreFoundByName) {
  struct Ask final : Hook {
    void after_step(const StepResult& r) override {
      EXPECT_EQ(r.value("loss"), 8);
      EXPECT_EQ(r.value("w"), 8);
      EXPECT_EQ(r.rows, 1);
      r.value("gap");
    }
  };
  EXPECT_THAT(error_of([&] { make().train(input, {.hooks = {std::make_shared<Ask>()}}); }),
              HasSubstr("there is no value `gap`; the model has loss, w; add it to "
                        "EstimatorSpec::values"));
}

// Entries own their names.
TEST_F(Hooking, ATraceMayBeReadAfterTraining) {
  struct Traces final : Hook {
    void before_step(StepRequest& r) override { r.trace = true; }
    void after_step(const StepResult& r) override { trace.assign(r.trace.begin(), r.trace.end()); }
    std::vector<TraceEntry> trace;
  };
  auto traces = std::make_shared<Traces>();
  Estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()})
      .train(input, {.steps = 1, .hooks = {traces}});
  std::vector<std::string> scopes;
  for (const TraceEntry& entry : traces->trace) scopes.push_back(entry.scope);
  EXPECT_THAT(scopes, ::testing::Contains("line"));
}

TEST_F(Hooking, AHookMaySaveAtAnyTime) {
  struct Save final : Hook {
    void before_step(StepRequest& r) override {
      if (r.step == 1) path = r.context.save_checkpoint();
    }
    std::string path;
  };
  auto save = std::make_shared<Save>();
  make(saving_nothing()).train(input, {.steps = 3, .hooks = {save}});
  EXPECT_EQ(save->path, checkpoint_path(dir.path(), 1));
  EXPECT_EQ(load_checkpoint(save->path).input, "1");
}

// ---- cadence

TEST(Cadence, CountsSteps) {
  Cadence cadence(Steps(10));
  EXPECT_TRUE(cadence.due(3, 0));  // the first call is due
  cadence.triggered(3, 0);
  EXPECT_FALSE(cadence.due(3, 1e9));  // never twice in one step
  EXPECT_FALSE(cadence.due(12, 0));
  EXPECT_TRUE(cadence.due(13, 0));
  Cadence never{Steps(std::numeric_limits<std::int64_t>::max())};
  never.triggered(3, 0);
  EXPECT_FALSE(never.due(4, 0));
}

TEST(Cadence, CountsSeconds) {
  Cadence cadence(std::chrono::seconds(10));
  cadence.triggered(0, 100);
  EXPECT_FALSE(cadence.due(0, 200));
  EXPECT_FALSE(cadence.due(50, 109.9));
  EXPECT_TRUE(cadence.due(50, 110));
}

TEST(Outcome, HasNames) {
  EXPECT_EQ(to_string(Outcome::finished), "finished");
  EXPECT_EQ(to_string(Outcome::stopped), "stopped");
  EXPECT_EQ(to_string(Outcome::failed), "failed");
}

// The mean over no rows would be NaN.
TEST(Training, ABatchWithoutRowsIsAnError) {
  for (auto devices : std::vector<std::vector<std::string>>{{"cpu"}, {"cpu:0", "cpu:1"}})
    for (BatchPolicy policy : {BatchPolicy::global, BatchPolicy::per_tower}) {
      TemporaryFolder dir;
      RunConfig config = saving_nothing();
      config.devices = devices;
      config.batch = policy;
      Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = config});
      EXPECT_EQ(error_of([&] {
                  estimator.train(once({points({}, {}), points({}, {})}));
                }),
                "train: the batch has no rows; leave such batches out of the stream (in training "
                "step 1)");
    }
}

}  // namespace
}  // namespace belfry
