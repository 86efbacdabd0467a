// A hook that throws, at each of its events, on one tower and on several.

#include <algorithm>

#include "towers_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Event {
  restore,
  begin,
  first_gradients,
  later_gradients,
  after_apply,
  before_step,
  after_step,
  state,
  before_save,
  after_save,
  end,
  nowhere
};

std::string to_string(Event event) {
  const char* names[] = {
      "restore",    "begin", "first_gradients", "later_gradients", "after_apply", "before_step",
      "after_step", "state", "before_save",     "after_save",      "end",         "nowhere"};
  return names[static_cast<int>(event)];
}
void PrintTo(Event event, std::ostream* out) { *out << to_string(event); }

// Throws at one event; within a step, at the fifth.
struct Thrower final : Hook, CheckpointListener {
  explicit Thrower(Event e) : event(e) {}

  void restore(const std::string&) override { throw_at(Event::restore); }
  void begin(HookContext&) override { throw_at(Event::begin); }
  void on_gradients(GradientStage&) override {
    throw_at(built++ == 0 ? Event::first_gradients : Event::later_gradients);
  }
  void after_apply(GradientStage&) override { throw_at(Event::after_apply); }
  void before_step(StepRequest& r) override {
    if (r.step == 5) throw_at(Event::before_step);
  }
  void after_step(const StepResult& r) override {
    if (r.step == 5) throw_at(Event::after_step);
  }
  void end(HookContext&, Outcome) override { throw_at(Event::end); }
  std::string name() const override { return "thrower"; }
  std::string state() const override {
    throw_at(Event::state);
    return "state";
  }
  void before_save(HookContext&) override { throw_at(Event::before_save); }
  void after_save(HookContext&, const std::string&) override { throw_at(Event::after_save); }

  void throw_at(Event here) const {
    if (here == event) fail("broken");
  }
  Event event;
  int built = 0;
};

struct Ends final : Hook {
  Ends(std::string l, std::vector<std::string>& o) : label(std::move(l)), out(o) {}
  void end(HookContext&, Outcome outcome) override { out.push_back(concat(label, " ", outcome)); }
  std::string label;
  std::vector<std::string>& out;
};

EstimatorSpec classifier(Scope s, const Batch& batch, Mode mode) {
  Tensor x = dropout(s / "dropout", batch["x"], {.rate = 0.3, .training = mode == Mode::train});
  Tensor logits = dense(s / "logits", x, {.units = classes});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 0.1})};
}

struct Throwing : ::testing::TestWithParam<std::tuple<Event, int>> {
  Estimator estimator() const {
    RunConfig config = on(std::get<1>(GetParam()));
    config.save_checkpoint = Steps(2);
    return Estimator({.model_fn = classifier, .model_dir = folder.path(), .run = config});
  }
  // The fifth batch is smaller: its step has to be built in the midst of training.
  InputFn input = over_and_over(batches_of({6, 6, 6, 6, 4}));
  TemporaryFolder folder;
  CapturedLog log;
};

TEST_P(Throwing, EndsTheOtherHooksOnceAndKeepsTheLastCheckpoint) {
  const auto& [event, towers] = GetParam();
  estimator().train(input, {.steps = 2, .hooks = {std::make_shared<Thrower>(Event::nowhere)}});

  auto thrower = std::make_shared<Thrower>(event);
  std::vector<std::string> ends;
  Hooks hooks{std::make_shared<Ends>("first", ends), thrower, std::make_shared<Ends>("last", ends)};
  Estimator failing = estimator();
  EXPECT_THAT(
      error_of([&] { failing.train(input, {.steps = 6, .hooks = hooks, .listeners = {thrower}}); }),
      HasSubstr("broken"));
  switch (event) {
    case Event::restore:
    case Event::first_gradients:
    case Event::after_apply:
      EXPECT_THAT(ends, IsEmpty());  // none began
      break;
    case Event::begin:
      EXPECT_THAT(ends, ElementsAre("first failed"));
      break;
    case Event::end:
      EXPECT_THAT(ends, ElementsAre("last finished", "first failed"));
      break;
    default:
      EXPECT_THAT(ends, ElementsAre("last failed", "first failed"));
  }

  // The last checkpoint goes on as if nothing had happened.
  Estimator resumed = estimator();
  resumed.train(input, {.max_steps = 8});
  NamedArrays expected = variables_after(classifier, on(towers), input, 8);
  for (const auto& [name, value] : expected)
    EXPECT_TRUE(identical(value, resumed.variable_value(name))) << name;
}

std::vector<Event> events() {
  std::vector<Event> out;
  for (int e = 0; e < static_cast<int>(Event::nowhere); ++e) out.push_back(static_cast<Event>(e));
  return out;
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<Event, int>>& info) {
  const auto& [event, towers] = info.param;
  return concat(event, "_", towers);
}

INSTANTIATE_TEST_SUITE_P(Events, Throwing,
                         ::testing::Combine(::testing::ValuesIn(events()), ::testing::Values(1, 3)),
                         case_name);

TEST(ThrowingAgain, AFailureMayFollowAFailure) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = saving_nothing()});
  CapturedLog log;
  EXPECT_THAT(error_of([&] {
                estimator.train(over_and_over({one_point()}),
                                {.hooks = {std::make_shared<Thrower>(Event::after_step)}});
              }),
              HasSubstr("broken"));
  InputFn no_file = []() -> InputStreamPtr { fail("no such file"); };
  EXPECT_EQ(error_of([&] { estimator.train(no_file, {.max_steps = 5}); }), "no such file");
  EXPECT_EQ(error_of([&] { estimator.evaluate(no_file); }), "no such file");
}

}  // namespace
}  // namespace belfry
