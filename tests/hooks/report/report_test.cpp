#include "belfry/hooks/report/report.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "../hooks_support.h"
#include "../undisturbed.h"
#include "belfry/framework/base/file.h"
#include "data_of.h"

namespace belfry::hooks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct ReportTest : testing::Test {
  ReportTest() { context.folder = folder.path(); }

  std::shared_ptr<Report> make(ReportOptions options = {}) {
    options.clock = [this] { return now; };
    options.wall_time = [this] { return ++pages, 1.7e9; };
    return report(std::move(options));
  }
  /// A step of 8 rows that ends half a second later, after an eighth of waiting for input.
  void step(Hook& hook, double loss, std::span<const std::pair<std::string, double>> values = {},
            std::span<const SummaryValue> summaries = {}) {
    now += 0.5;
    context.finish_step(hook, {.context = context,
                               .loss = loss,
                               .rows = 8,
                               .input_wait_seconds = 0.125,
                               .values = values,
                               .times = {.compute = 0.25},
                               .summaries = summaries});
  }
  nlohmann::json page() const { return data_of(read_file(folder / "report.html")); }
  /// The value of a line in the table of facts.
  static nlohmann::json fact(const nlohmann::json& page, const std::string& name) {
    for (const auto& line : page.at("facts"))
      if (line[0] == name) return line[1];
    return nullptr;
  }
  /// The curves, as their texts: "group name series: text".
  static std::vector<std::string> curves(const Hook& hook) {
    std::vector<std::string> out;
    auto state = nlohmann::json::parse(hook.state());
    for (const auto& item : state.at("curves"))
      out.push_back(concat(item[0].get<std::string>(), " ", item[1].get<std::string>(), " ",
                           item[2].get<std::string>(), ": ", item[3].get<std::string>()));
    return out;
  }

  FakeContext context;
  TemporaryFolder folder;
  CapturedLog log;
  double now = 0;
  int pages = -1;  // the time is asked for at the beginning and for each page
};

// In a text: steps a point, the latest step and value; then of each point step, steps more, finite
// values, others, and the value.
TEST_F(ReportTest, KeepsValuesAndSpeedByCadence) {
  std::vector<std::pair<std::string, double>> values{{"d_loss", 3}};
  auto hook = make({.every = Steps(2)});
  hook->begin(context);
  for (double loss : {4, 5, 6}) step(*hook, loss, values);
  EXPECT_THAT(curves(*hook), ElementsAre("value d_loss : 1 3 1 3 1 0 1 0 3 3 0 1 0 3 ",
                                         "value loss : 1 3 1 6 1 0 1 0 4 3 0 1 0 6 ",
                                         "speed examples/s : 1 3 1 16 3 0 1 0 16 ",
                                         "speed steps/s : 1 3 1 2 3 0 1 0 2 ",
                                         "speed waiting for input : 1 3 1 25 3 0 1 0 25 "));
  hook->end(context, Outcome::finished);
  auto curve = page().at("curves").at(3);
  EXPECT_EQ(curve.at("name"), "steps/s");
  EXPECT_EQ(curve.at("points"), nlohmann::json::parse("[[3, 2.0]]"));
  EXPECT_EQ(page().at("time").at("all"), 1.5);
  EXPECT_EQ(page().at("time").at("compute"), 0.75);
  EXPECT_EQ(page().at("time").at("input"), 0.375);
}

TEST_F(ReportTest, ShowsThePlanOfTheTrainingOrTheOneGiven) {
  context.plan_text = "memory of a step: 5 < 6";
  auto hook = make();
  hook->begin(context);
  hook->end(context, Outcome::finished);
  EXPECT_EQ(page().at("plan"), "memory of a step: 5 < 6");
  auto given = make({.plan = "mine"});
  given->begin(context);
  given->end(context, Outcome::finished);
  EXPECT_EQ(page().at("plan"), "mine");
}

TEST_F(ReportTest, ValuesThatAreNotFiniteAreKeptWhateverTheCadence) {
  auto hook = make({.every = Steps(100)});
  hook->begin(context);
  for (double loss : {1., 2., std::nan(""), 4.}) step(*hook, loss);
  EXPECT_THAT(curves(*hook), ElementsAre("value loss : 1 3 0 1 0 1 0 1 3 0 0 1 "));
  hook->end(context, Outcome::failed);
  EXPECT_EQ(page().at("curves").at(0).at("points").at(1),
            nlohmann::json::parse("[3, 3, 0, 1, 0.0, 0.0, 0.0]"));
}

TEST_F(ReportTest, TheLastStepIsAPoint) {
  context.limit = 3;
  auto hook = make({.every = Steps(100)});
  hook->begin(context);
  for (double loss : {4, 5, 6}) step(*hook, loss);
  EXPECT_EQ(curves(*hook).at(0), "value loss : 1 3 1 6 1 0 1 0 4 3 0 1 0 6 ");
  hook->end(context, Outcome::finished);
}

TEST_F(ReportTest, WritesAtTheFirstStepByCadenceAndAtTheEnd) {
  context.limit = 1000;
  auto hook = make({.title = "A run", .write_every = std::chrono::seconds(10)});
  auto written = [&] {  // by a thread
    auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!std::filesystem::exists(folder / "report.html")
           && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    auto content = page();
    std::filesystem::remove(folder / "report.html");
    return content;
  };
  hook->begin(context);
  EXPECT_EQ(pages, 0);
  step(*hook, 1);  // at 0.5
  EXPECT_EQ(pages, 1);
  auto first = written();
  EXPECT_EQ(first.at("title"), "A run");
  EXPECT_EQ(first.at("state"), "running");
  EXPECT_EQ(first.at("step"), 1);
  EXPECT_EQ(first.at("last_step"), 1000);
  EXPECT_EQ(fact(first, "Rows of a step"), "8");
  now = 10;
  // At 10.5, unless the thread is still busy.
  for (step(*hook, 1); pages < 2; context.finish_step(*hook, {.context = context}))
    std::this_thread::yield();
  EXPECT_EQ(written().at("step"), context.finished);
  now = 19.5;
  step(*hook, 1);  // at 20
  EXPECT_EQ(pages, 2);
  hook->end(context, Outcome::finished);
  auto last = written();
  EXPECT_EQ(last.at("state"), "finished");
  EXPECT_EQ(fact(last, "Time of training"), "00:20");
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(ReportTest, AFailureAndItsReasonAreShown) {
  auto hook = make();
  hook->begin(context);
  step(*hook, 1);
  try {
    fail("disk on <fire>");
  } catch (const Error&) {
    hook->end(context, Outcome::failed);
  }
  EXPECT_EQ(page().at("state"), "failed");
  EXPECT_EQ(page().at("step"), 1);
  EXPECT_TRUE(page().at("last_step").is_null());
  EXPECT_EQ(page().at("reason"), "disk on <fire>");
}

TEST_F(ReportTest, AnotherExceptionIsNoReason) {
  auto hook = make();
  try {
    fail("no GPU, so let us train here");
  } catch (const Error&) {
    hook->begin(context);
    step(*hook, 1);
    hook->end(context, Outcome::finished);
  }
  EXPECT_EQ(page().at("state"), "finished");
  EXPECT_EQ(page().at("reason"), "");
}

TEST_F(ReportTest, WhatComesAfterTrainingIsWrittenAtOnce) {
  auto hook = make();
  EvalResult found;
  found.set("accuracy", Array::scalar(0.5));
  found.set("global_step", Array::scalar(1.0));
  found.set("matrix", Array::zeros({2, 2}));
  hook->add_evaluation(1, found, "too early");
  hook->begin(context);
  step(*hook, 1);
  hook->end(context, Outcome::stopped);
  EXPECT_EQ(page().at("reason"), "");
  TrainResult result;
  result.outcome = Outcome::stopped;
  result.reason = "the host asked for it";
  hook->add_result(result);
  EXPECT_EQ(page().at("state"), "stopped");
  EXPECT_EQ(page().at("reason"), "the host asked for it");
  hook->add_evaluation(1, found, "test");
  EXPECT_EQ(page().at("curves").back().at("latest"), 0.5);
  hook->add_images(1, "drawn", Array::zeros({2, 4, 4, 1}));
  EXPECT_EQ(page().at("images").at(0).at("name"), "drawn");
  EXPECT_EQ(page().at("images").at(0).at("step"), 1);
  EXPECT_EQ(page().at("images").at(0).at("pngs").size(), 2u);
  EXPECT_THAT(curves(*hook), ElementsAre("value loss : 1 1 1 1 1 0 1 0 1 ",
                                         "evaluation accuracy test: 1 1 1 0.5 1 0 1 0 0.5 "));
}

TEST_F(ReportTest, AsksForSummariesAndShowsThem) {
  context.limit = 8;
  auto hook = make({.summaries = Steps(3)});
  hook->begin(context);
  std::vector<std::int64_t> asked;
  for (std::int64_t finished = 0; finished < 8; ++finished) {
    StepRequest request{.context = context, .step = finished};
    hook->before_step(request);
    if (request.summaries) asked.push_back(finished + 1);
  }
  EXPECT_THAT(asked, ElementsAre(1, 4, 7, 8));
  std::vector<SummaryValue> summaries{
      {"pixels", SummaryKind::image, Array::zeros({1, 2, 2, 1})},
      {"norm", SummaryKind::scalar, Array::scalar(2.f)},
      {"w", SummaryKind::histogram, Array::of({3.f, 1.f, 2.f})},
      {"words", SummaryKind::text, Array::of({std::uint8_t{'h'}, std::uint8_t{'i'}})}};
  step(*hook, 1, {}, summaries);
  EXPECT_THAT(
      curves(*hook),
      ElementsAre("value loss : 1 1 1 1 1 0 1 0 1 ", "scalar norm : 1 1 1 2 1 0 1 0 2 ",
                  "histogram w 25: 1 1 1 2 1 0 1 0 2 ", "histogram w 5: 1 1 1 1 1 0 1 0 1 ",
                  "histogram w 50: 1 1 1 2 1 0 1 0 2 ", "histogram w 75: 1 1 1 3 1 0 1 0 3 ",
                  "histogram w 95: 1 1 1 3 1 0 1 0 3 "));
  hook->end(context, Outcome::finished);
  EXPECT_EQ(page().at("images").at(0).at("name"), "pixels");
  EXPECT_EQ(page().at("texts"),
            nlohmann::json::parse(R"([{"name": "words", "step": 1, "text": "hi"}])"));
  EXPECT_EQ(page().at("curves").size(), 7u);
}

TEST_F(ReportTest, CurvesSurviveARestart) {
  auto before = make();
  before->begin(context);
  for (double loss : {4, 5}) step(*before, loss);
  before->end(context, Outcome::stopped);
  auto after = make({.every = Steps(1)});
  after->restore(before->state());
  EXPECT_EQ(after->state(), before->state());
  after->begin(context);
  step(*after, 6);
  EXPECT_EQ(curves(*after).at(0), "value loss : 1 3 1 6 1 0 1 0 4 3 0 1 0 6 ");
  after->end(context, Outcome::finished);
  EXPECT_EQ(fact(page(), "Began after steps"), "0, 2");
  EXPECT_EQ(fact(page(), "Time of training"), "00:01");
  EXPECT_EQ(page().at("curves").at(0).at("points"), nlohmann::json::parse("[[1, 4.0], [3, 6.0]]"));
}

// With 500 points of each curve the state would have some 0.8 MB.
TEST_F(ReportTest, TheStateHasABound) {
  std::vector<std::pair<std::string, double>> values;
  for (int i = 0; i < 96; ++i) values.emplace_back(concat("value ", 100 + i), 0);
  context.limit = 500;
  auto before = make({.every = Steps(1)});
  before->begin(context);
  for (int i = 1; i <= 500; ++i) {
    for (auto& [name, value] : values) value = i;
    step(*before, i, values);
  }
  before->end(context, Outcome::finished);
  std::string state = before->state();
  EXPECT_LE(state.size(), 256 * 1024 + 100);  // and what is beside the curves
  EXPECT_GT(state.size(), 64 * 1024);
  auto after = make();
  after->restore(state);
  EXPECT_EQ(after->state(), state);
  auto found = curves(*after);
  EXPECT_EQ(found.size(), 100u);  // 97 values and 3 of speed
  // Steps 0 to 7 are a point, then 8 to 15, and so on to 496 to 500.
  EXPECT_THAT(found.at(0), StartsWith("value loss : 8 500 1 500 1 6 7 0 4 1 7 8 7 8 0 11.5 8 15 "));
  EXPECT_THAT(found.at(0), EndsWith(" 496 4 5 0 498 496 500 "));
}

TEST_F(ReportTest, ResultsThatCameBetweenTrainingsStay) {
  auto hook = make();
  hook->begin(context);
  step(*hook, 1);
  hook->end(context, Outcome::finished);
  std::string state = hook->state();
  EvalResult found;
  found.set("loss", Array::scalar(0.5));
  hook->add_evaluation(1, found);
  hook->restore(state);
  hook->begin(context);
  EXPECT_EQ(curves(*hook).back(), "evaluation loss : 1 1 1 0.5 1 0 1 0 0.5 ");
  hook->end(context, Outcome::finished);
  hook->add_evaluation(1, found);
  hook->begin(context);  // of another model, as nothing is restored
  EXPECT_THAT(curves(*hook), IsEmpty());
  hook->end(context, Outcome::finished);
}

TEST_F(ReportTest, ADamagedStateIsAWarning) {
  auto hook = make();
  for (const char* state :
       {"", "[]", R"({"seconds": 1, "runs": [], "curves": [["value", "loss", "", "1 x"]]})",
        R"({"seconds": 1, "runs": [], "curves": [["face", "loss", "", ""]]})"})
    hook->restore(state);
  ASSERT_EQ(log.lines.size(), 4u);
  for (const std::string& line : log.lines)
    EXPECT_THAT(line, HasSubstr("report: the curves before the restart are lost: "));
  hook->begin(context);
  EXPECT_THAT(curves(*hook), IsEmpty());
  hook->end(context, Outcome::finished);
}

TEST_F(ReportTest, NamesNeedNotBeText) {
  std::vector<std::pair<std::string, double>> values{{"\xFF<", 3}};
  auto hook = make();
  hook->begin(context);
  step(*hook, 1, values);
  EXPECT_EQ(curves(*hook).back(), "value \xEF\xBF\xBD< : 1 1 1 3 1 0 1 0 3 ");
  hook->end(context, Outcome::finished);
  EXPECT_EQ(page().at("curves").back().at("name"), "\xEF\xBF\xBD<");
}

TEST_F(ReportTest, WhatCannotBeWrittenIsOneWarning) {
  auto hook = make({.path = folder / "missing/report.html"});
  hook->begin(context);
  step(*hook, 1);
  hook->end(context, Outcome::finished);
  hook->add_result({});
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_THAT(log.lines[0], AllOf(HasSubstr("report: cannot write"), HasSubstr("missing")));
}

TEST_F(ReportTest, OtherWorkersAskForSummariesAndWriteNothing) {
  context.chief = false;
  auto hook = make();
  hook->begin(context);
  StepRequest request{.context = context};
  hook->before_step(request);
  EXPECT_TRUE(request.summaries);
  step(*hook, 1);
  hook->end(context, Outcome::finished);
  hook->add_result({});
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(ReportTest, CadencesMustBeAboveZero) {
  EXPECT_EQ(error_of([] { report({.every = Steps(0)}); }),
            "report: every must be above 0, got 0 steps");
  EXPECT_EQ(error_of([] { report({.summaries = Steps(-1)}); }),
            "report: summaries must be at least 1, got -1");
  EXPECT_EQ(error_of([] { report({.write_every = std::chrono::seconds(0)}); }),
            "report: write_every must be at least 1, got 0");
}

// In training: w falls from 8 by 1/4 of x = 1 a step, and the loss is w before that.
TEST_F(ReportTest, TrainingThatGoesOnShowsAllOfIt) {
  auto train = [&](std::int64_t steps) {
    Estimator model({.model_fn = falling, .model_dir = folder.path(), .run = quiet()});
    auto hook = report({.every = Steps(1), .facts = {{"x", "one"}}});
    TrainOptions options{.max_steps = steps, .hooks = {hook}};
    model.train(over_and_over({one_point()}), options);
    return hook;
  };
  train(1);
  auto hook = train(2);
  auto found = curves(*hook);
  EXPECT_EQ(found.at(0), "value loss : 1 2 1 7.75 1 0 1 0 8 2 0 1 0 7.75 ");
  EXPECT_EQ(found.at(1), "value w : 1 2 1 7.75 1 0 1 0 8 2 0 1 0 7.75 ");
  EXPECT_EQ(found.at(2), "rate learning_rate : 1 2 1 0.25 1 0 1 0 0.25 2 0 1 0 0.25 ");
  EXPECT_EQ(page().at("state"), "finished");
  EXPECT_EQ(page().at("last_step"), 2);
  EXPECT_EQ(fact(page(), "x"), "one");
  EXPECT_EQ(fact(page(), "Devices"), "cpu");
}

TEST_F(ReportTest, AFailedTrainingSaysWhy) {
  struct Failing final : Hook {
    void after_step(const StepResult&) override { fail("it broke"); }
  };
  Estimator model({.model_fn = falling, .model_dir = folder.path(), .run = quiet()});
  TrainOptions options{.max_steps = 9, .hooks = {report(), std::make_shared<Failing>()}};
  EXPECT_THAT(error_of([&] { model.train(over_and_over({one_point()}), options); }),
              HasSubstr("it broke"));
  EXPECT_THAT(page().at("reason").get<std::string>(), StartsWith("it broke"));
}

TEST(Report, LeavesTrainingAsItIs) {
  expect_undisturbed([](Estimator&) { return report({.every = Steps(1), .summaries = Steps(1)}); });
}

}  // namespace
}  // namespace belfry::hooks
