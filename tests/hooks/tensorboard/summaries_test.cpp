#include "belfry/hooks/tensorboard/summaries.h"

#include <fstream>

#include "../../framework/train/training_testing.h"
#include "../hooks_support.h"
#include "belfry/framework/graph/leaves.h"
#include "events.h"

namespace belfry::hooks {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct SummariesTest : testing::Test {
  SummariesTest() { context.folder = folder.path(); }

  FakeContext context;
  TemporaryFolder folder;
  double now = 0;
};

// Steps of a quarter of a second, of which an eighth is spent waiting for 8 rows.
TEST_F(SummariesTest, WritesValuesAndSpeedByCadence) {
  std::vector<std::pair<std::string, double>> values{{"d_loss", 3}};
  auto hook = summaries({.every = Steps(2), .clock = [&] { return now; }});
  hook->begin(context);
  for (int i = 0; i < 4; ++i) {
    now += 0.25;
    context.finish_step(*hook, {.context = context,
                                .loss = 0.5 * i,
                                .rows = 8,
                                .input_wait_seconds = 0.125,
                                .values = values});
  }
  hook->end(context, Outcome::finished);
  EXPECT_THAT(
      words_of(event_files(folder.path()).at(0)),
      ElementsAre("version", "1 session 1", "1 loss=0", "1 d_loss=3", "3 loss=1", "3 d_loss=3",
                  "3 global_step/sec=4", "3 examples/sec=32", "3 input/waiting=0.5"));
}

TEST_F(SummariesTest, CadenceMayBeInSecondsAndBeginsAnewWithEachTraining) {
  auto hook = summaries({.every = std::chrono::seconds(10), .clock = [&] { return now; }});
  for (int run = 0; run < 2; ++run) {
    hook->begin(context);
    for (double time : {1., 10.9, 11.}) {
      now = 100 * run + time;
      context.finish_step(*hook, {.context = context, .loss = 1});
    }
    hook->end(context, Outcome::stopped);
  }
  auto files = event_files(folder.path());
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_THAT(words_of(files[0]),
              ElementsAre("version", "1 session 1", "1 loss=1", "3 loss=1", "3 global_step/sec=0.2",
                          "3 examples/sec=0", "3 input/waiting=0"));
  EXPECT_THAT(words_of(files[1]), Contains("4 session 1"));
  EXPECT_THAT(words_of(files[1]), Contains("4 loss=1"));
}

TEST_F(SummariesTest, OtherWorkersWriteNothing) {
  context.chief = false;
  auto hook = summaries({.histograms = Steps(1)});
  hook->begin(context);
  EXPECT_FALSE(hook->needs_result_now(context, 1));
  context.finish_step(*hook, {.context = context});
  hook->after_save(context, "c");
  hook->end(context, Outcome::finished);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(SummariesTest, ResultsAreNeededAtOnceForHistogramsOnly) {
  auto plain = summaries({.every = Steps(1)});
  plain->begin(context);
  EXPECT_FALSE(plain->needs_result_now(context, 1));
  auto histograms = summaries({.histograms = Steps(5)});
  histograms->begin(context);
  EXPECT_TRUE(histograms->needs_result_now(context, 1));
}

// The clock passes the tenth second between the question and the step's end.
TEST_F(SummariesTest, WhetherValuesAreDueIsDecidedOnce) {
  auto hook =
      summaries({.every = std::chrono::seconds(10), .graph = false, .clock = [&] { return now; }});
  hook->begin(context);
  context.finish_step(*hook, {.context = context, .loss = 1});
  now = 9.9;
  EXPECT_FALSE(hook->needs_result_now(context, 2));
  now = 10.1;
  hook->after_step({.context = context, .step = 2, .loss = 2});
  EXPECT_FALSE(hook->needs_result_now(context, 3));
  hook->after_step({.context = context, .step = 3, .loss = 3});
  hook->end(context, Outcome::finished);
  auto words = words_of(event_files(folder.path()).at(0));
  EXPECT_THAT(words, Contains("1 loss=1"));
  EXPECT_THAT(words, Not(Contains("2 loss=2")));
  EXPECT_THAT(words, Contains("3 loss=3"));
}

// Steps 1 and 11 s later; of a worker that does not write, too.
TEST_F(SummariesTest, AllWorkersAskForTheModelsSummaries) {
  struct Clocked final : FakeContext {
    double clock() const override { return now; }
    double now = 1;
  };
  for (bool chief : {true, false}) {
    Clocked clocked;
    clocked.chief = chief;
    clocked.folder = folder.path();
    auto hook = summaries({.every = Steps(100), .of_model = std::chrono::seconds(10)});
    hook->begin(clocked);
    std::vector<bool> asked;
    for (double time : {1., 10.9, 11.}) {
      clocked.now = time;
      StepRequest request{clocked, clocked.finished++};
      hook->before_step(request);
      asked.push_back(request.summaries);
    }
    EXPECT_THAT(asked, ElementsAre(true, false, true));
    hook->end(clocked, Outcome::finished);
  }
}

TEST_F(SummariesTest, ACheckpointIsNotedAtItsOwnStep) {
  std::string path = checkpoint_path(folder.path(), 3);
  std::ofstream(path) << "of step 3, written in the background";
  auto hook = summaries();
  hook->begin(context);
  context.finished = 5;
  hook->after_save(context, path);
  hook->end(context, Outcome::finished);
  EXPECT_THAT(words_of(event_files(folder.path()).at(0)),
              ElementsAre("version", "1 session 1", "3 session 3"));
}

TEST_F(SummariesTest, CadencesMustBeAboveZero) {
  EXPECT_EQ(error_of([] { summaries({.every = Steps(0)}); }),
            "summaries: every must be above 0, got 0 steps");
  EXPECT_EQ(error_of([] { summaries({.of_model = Steps(0)}); }),
            "summaries: of_model must be above 0, got 0 steps");
  EXPECT_EQ(error_of([] { summaries({.histograms = std::chrono::seconds(-3)}); }),
            "summaries: histograms must be above 0, got -3 s");
  EXPECT_THAT(error_of([] { summaries({.flush = std::chrono::milliseconds(-1)}); }),
              HasSubstr("flush is -1 ms"));
}

// w falls from 8 by the rate times x = 1: 1/2 in the first two steps, then 1/4.
EstimatorSpec scheduled(Scope s, const Batch& batch, Mode) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  s.variable("seen", {.kind = VariableKind::statistic});
  return {.loss = mean(w.value() * batch["x"]),
          .train = sgd(
              {.learning_rate = piecewise_constant({.boundaries = {1}, .values = {0.5, 0.25}})}),
          .metrics = {{"mean_x", mean_metric(batch["x"])}}};
}

std::vector<std::string> without_speed(std::vector<std::string> words) {
  std::erase_if(words, [](const std::string& word) {
    return word.find("/sec=") != std::string::npos || word.find(" input/") != std::string::npos;
  });
  return words;
}

struct SummariesOfTraining : testing::Test {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  CapturedLog log;

  std::vector<std::string> train(ModelFn model, const std::shared_ptr<Summaries>& hook,
                                 std::int64_t steps, bool listen = false) {
    Estimator estimator({.model_fn = std::move(model), .model_dir = dir, .run = quiet()});
    CheckpointListeners listeners;
    if (listen) listeners.push_back(hook);
    estimator.train(over_and_over({one_point()}),
                    {.max_steps = steps, .hooks = {hook}, .listeners = listeners});
    return without_speed(words_of(event_files(dir).back()));
  }
};

TEST_F(SummariesOfTraining, HaveGraphRatesAndHistograms) {
  EXPECT_THAT(
      train(scheduled,
            summaries(
                {.every = Steps(1), .histograms = Steps(2), .hyper_parameters = {{"units", 3}}}),
            3),
      ElementsAre("version", "1 session 1", "0 graph", "0 _hparams_/session_start_info:hparams",
                  "1 loss=8", "1 learning_rate=0.5", "1 w:histogram", "2 loss=7.5",
                  "2 learning_rate=0.5", "3 loss=7", "3 learning_rate=0.25", "3 w:histogram",
                  "3 _hparams_/session_end_info:hparams"));
}

TEST_F(SummariesOfTraining, NoteCheckpointsAndRestarts) {
  auto words = train(scheduled, summaries({.graph = false}), 2, true);
  EXPECT_THAT(words, ElementsAre("version", "1 session 1", "0 session 3", "1 loss=8",
                                 "1 learning_rate=0.5", "2 session 3"));
  EXPECT_THAT(train(scheduled, summaries(), 3),
              ElementsAre("version", "3 session 1", "2 graph", "3 loss=7", "3 learning_rate=0.25"));
  EXPECT_THAT(event_files(dir), SizeIs(2));
}

TEST_F(SummariesOfTraining, NoteTheLastCheckpointThatIsWrittenInTheBackground) {
  RunConfig config = saving_every(2);
  config.save_in_background = true;
  Estimator estimator({.model_fn = scheduled, .model_dir = dir, .run = config});
  auto hook = summaries({.graph = false});
  estimator.train(over_and_over({one_point()}),
                  {.max_steps = 2, .hooks = {hook}, .listeners = {hook}});
  EXPECT_THAT(words_of(event_files(dir).at(0)),
              ElementsAre("version", "1 session 1", "0 session 3", "1 loss=8",
                          "1 learning_rate=0.5", "2 session 3"));
}

// TensorBoard warns of two graphs in one folder.
TEST_F(SummariesOfTraining, AGraphIsWrittenOnceAFolder) {
  EXPECT_THAT(train(scheduled, summaries(), 1), Contains("0 graph"));
  EXPECT_THAT(train(scheduled, summaries(), 2), Not(Contains("1 graph")));
}

// Another model in another folder: its graph is written, and only its own rates.
TEST_F(SummariesOfTraining, ForgetAnEarlierTraining) {
  auto two = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable a = s.variable("a", {}), b = s.variable("b", {});
    Tensor x = mean(batch["x"]);
    return {.loss = a.value() * x,
            .train = {minimize(a.value() * x, sgd({.learning_rate = 1}), {a}),
                      minimize(b.value() * x, sgd({.learning_rate = 1}), {b})}};
  };
  auto hook = summaries({.every = Steps(1)});
  EXPECT_THAT(train(two, hook, 1), Contains("0 graph"));
  EXPECT_THAT(train(two, hook, 2), Not(Contains("1 graph")));  // it is in this folder
  dir = folder / "other";
  EXPECT_THAT(train(scheduled, hook, 1),
              ElementsAre("version", "1 session 1", "0 graph", "1 loss=8", "1 learning_rate=0.5"));
}

TEST_F(SummariesOfTraining, HistogramsOfAStepAreOneEvent) {
  train(linear, summaries({.every = Steps(1), .histograms = Steps(1), .graph = false}), 1);
  std::string path = event_files(dir).at(0);
  EXPECT_THAT(words_of(path), Contains("1 line/kernel:histogram"));
  EXPECT_THAT(words_of(path), Contains("1 line/bias:histogram"));
  EXPECT_THAT(records_of(path), SizeIs(4));  // version, session, values, histograms
}

TEST_F(SummariesOfTraining, HaveWhatTheModelShows) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = scheduled(s, batch, mode);
    Tensor image = constant(s.graph(), Array::zeros({2, 4, 5, 3}));
    spec.summaries = {scalar_summary("d", mean(batch["x"]) * 3), histogram_summary("h", batch["x"]),
                      image_summary("i", image),
                      text_summary("t", constant(s.graph(), Array::of<std::uint8_t>({'h', 'i'})))};
    return spec;
  };
  auto hook = summaries({.every = Steps(3), .of_model = Steps(2), .graph = false});
  EXPECT_THAT(
      train(model, hook, 3),
      ElementsAre("version", "1 session 1", "1 loss=8", "1 learning_rate=0.5", "1 d=3",
                  "1 h:histogram", "1 i/image/0:image", "1 i/image/1:image", "1 t:text", "3 d=3",
                  "3 h:histogram", "3 i/image/0:image", "3 i/image/1:image", "3 t:text"));
}

// The counter of the second update counts twice as fast as the steps.
TEST_F(SummariesOfTraining, RatesFollowTheirUpdatesCounters) {
  auto two = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable a = s.variable("a", {}), b = s.variable("b", {});
    Tensor x = mean(batch["x"]);
    Schedule rate = [](Tensor step) { return cast(step, DType::f32) + 1; };
    Update first = minimize(a.value() * x, sgd({.learning_rate = rate}), {a});
    Update second = minimize(b.value() * x, sgd({.learning_rate = rate}), {b});
    first.name = "first";
    second.name = "second";
    second.counter = "count";
    second.schedule_by_counter = true;
    return {.loss = a.value() * x,
            .train = {first, second},
            .round = {{.updates = {1}}, {.updates = {0, 1}}}};
  };
  auto hook = summaries({.every = Steps(1), .graph = false});
  EXPECT_THAT(train(two, hook, 2),
              ElementsAre("version", "1 session 1", "1 loss=0", "1 learning_rate/first=1",
                          "1 learning_rate/second=2", "2 loss=-1", "2 learning_rate/first=2",
                          "2 learning_rate/second=4"));
}

TEST_F(SummariesOfTraining, ARateThatDependsOnTheModelIsLeftOut) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable w = s.variable("w", {});
    Tensor x = mean(batch["x"]);
    return {
        .loss = w.value() * x,
        .train = sgd({.learning_rate = [x](Tensor step) { return x * cast(step, DType::f32); }})};
  };
  EXPECT_THAT(train(model, summaries({.graph = false}), 2),
              ElementsAre("version", "1 session 1", "1 loss=0"));
  EXPECT_THAT(log.lines, Contains(HasSubstr("the learning rate of sgd is not recorded: ")));
}

TEST_F(SummariesOfTraining, ChangeNoBit) {
  auto trained = [&](const Hooks& hooks, const std::string& name) {
    Estimator estimator({.model_fn = linear, .model_dir = folder / name, .run = quiet()});
    estimator.train(over_and_over({points({1, 2}, {3, 1})}), {.max_steps = 5, .hooks = hooks});
    return estimator.variable_value("line/kernel");
  };
  EXPECT_TRUE(identical(trained({}, "without"),
                        trained({summaries({.every = Steps(1), .histograms = Steps(1)})}, "with")));
}

TEST_F(SummariesOfTraining, EvaluationsAreRunsOfTheirOwn) {
  Estimator estimator({.model_fn = scheduled, .model_dir = dir, .run = quiet()});
  EvalResult result = estimator.evaluate(once({points({2, 4}, {0, 0})}));
  result.set("table", Array::zeros({2, 2}, DType::f64));
  result.set("classes", Array::zeros({6, 6}, DType::f64));
  EXPECT_EQ(evaluation_dir(dir), dir + "/eval");
  std::string eval_dir = evaluation_dir(dir, "test");
  EXPECT_EQ(eval_dir, dir + "/eval_test");
  write_evaluation(eval_dir, result, 20, "path");
  write_evaluation(eval_dir, result, 10);
  auto files = event_files(eval_dir);
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_THAT(words_of(files[0]),
              ElementsAre("version", "20 loss=24", "20 mean_x=3", "20 checkpoint_path:text"));
  EXPECT_THAT(words_of(files[1]), ElementsAre("version", "10 loss=24", "10 mean_x=3"));
}

// The curve is that of count_pr_curve().
TEST_F(SummariesOfTraining, EvaluationsHaveCurves) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = scheduled(s, batch, mode);
    spec.metrics = {{"curve", pr_curve(batch["y"], batch["x"], {.thresholds = 5})}};
    return spec;
  };
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = quiet()});
  Features points_of_curve = points({0.5f, 1, 0.25f, 0.75f, 0}, {1, 1, 0, 0, 1});
  EvalResult result = estimator.evaluate(once({points_of_curve}));
  write_evaluation(folder / "eval", result, 20);
  auto files = event_files(folder / "eval");
  EXPECT_THAT(words_of(files.at(0)), Contains("20 curve:pr_curves"));
  EventFile(folder / "counted")
      .add(20, {pr_curve_summary(
                   "curve", count_pr_curve(points_of_curve.at("y"), points_of_curve.at("x"), 5))});
  auto first_value = [](const std::string& path) -> std::vector<std::byte> {
    auto records = records_of(path);
    WireReader event(records.at(1));
    while (event.next())
      if (event.is(5, WireType::length_delimited)) {
        WireReader summary = event.message();
        summary.next();
        auto bytes = summary.bytes();
        return {bytes.begin(), bytes.end()};
      }
    return {};
  };
  EXPECT_EQ(first_value(event_files(folder / "counted").at(0)), first_value(files[0]));
}

TEST_F(SummariesOfTraining, OtherTablesOfSixRowsAreNoCurves) {
  Array found = Array::of<double>({2, 1, 1, 0, 0, 1, 0, 1, 2.0 / 3, 1, 1, 0.5}, {6, 2});
  EvalResult result;
  result.set("curve", found);
  for (std::int64_t place : {0, 2, 5, 7, 9, 11}) {
    Array other = found.clone();
    other.span<double>()[static_cast<std::size_t>(place)] += 1;
    result.set(concat("changed", place), other);
  }
  write_evaluation(dir, result, 1);
  EXPECT_THAT(words_of(event_files(dir).at(0)), ElementsAre("version", "1 curve:pr_curves"));
}

}  // namespace
}  // namespace belfry::hooks
