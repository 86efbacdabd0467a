#include "common/program.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "../framework/base/temporary_folder.h"

namespace belfry::examples {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Options parsed(std::vector<const char*> arguments, Options defaults = {.data = "pictures"}) {
  arguments.insert(arguments.begin(), "program");
  return parse(static_cast<int>(arguments.size()), arguments.data(), std::move(defaults)).value();
}

std::string error_of(std::vector<const char*> arguments) {
  try {
    parsed(std::move(arguments));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class File {
 public:
  explicit File(const std::string& content) { std::ofstream(path_) << content; }
  const char* path() const { return path_.c_str(); }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "options.json";
};

TEST(Program, DefaultsAreTheExamplesOwn) {
  Options o = parsed(
      {}, {.data = "pictures", .data_dir = "d", .model_dir = "m", .max_steps = 7, .batch_size = 3});
  EXPECT_EQ(o.data_dir, "d");
  EXPECT_EQ(o.model_dir, "m");
  EXPECT_EQ(o.max_steps, 7);
  EXPECT_EQ(o.batch_size, 3);
  EXPECT_EQ(o.run.log_step_count, Steps(0));
  EXPECT_EQ(o.run.seed, 1u);
  EXPECT_FALSE(o.plan);
  EXPECT_FALSE(o.summary);
}

TEST(Program, ReadsEveryOption) {
  Options o =
      parsed({"--data_dir", "d", "--model_dir=m", "--max_steps", "5", "--batch_size", "2", "--seed",
              "18446744073709551615", "--threads", "3", "--save_checkpoint_steps", "11",
              "--devices", "cpu:0,cpu:1", "--precision", "bf16", "--plan", "--summary"});
  EXPECT_EQ(o.data_dir, "d");
  EXPECT_EQ(o.model_dir, "m");
  EXPECT_EQ(o.max_steps, 5);
  EXPECT_EQ(o.batch_size, 2);
  EXPECT_EQ(o.run.seed, 18446744073709551615u);
  EXPECT_EQ(o.run.threads, 3);
  EXPECT_EQ(o.run.save_checkpoint, Every(Steps(11)));
  EXPECT_THAT(o.run.devices, ElementsAre("cpu:0", "cpu:1"));
  EXPECT_EQ(o.run.precision, Precision::bf16);
  EXPECT_TRUE(o.plan);
  EXPECT_TRUE(o.summary);
}

TEST(Program, ReadsTheExamplesOwnOptions) {
  Options defaults{.own = {{"model", {"small", "Which"}},
                           {"image_size", {"32", "Side"}},
                           {"rate", {"0.1", "Of learning"}}}};
  Options o = parsed({"--image-size", "64"}, defaults);
  EXPECT_EQ(o.words("model"), "small");
  EXPECT_EQ(o.whole_number("image_size"), 64);
  EXPECT_EQ(o.number("rate"), 0.1);
  File file(R"({"model": "large", "image_size": 96, "rate": 0.5})");
  o = parsed({"--config", file.path(), "--rate=2"}, defaults);
  EXPECT_EQ(o.words("model"), "large");
  EXPECT_EQ(o.whole_number("image_size"), 96);
  EXPECT_EQ(o.number("rate"), 2);
  try {
    parsed({"--rate", "0.5x", "--image_size", "1.5"}, defaults).number("rate");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rate must be a number, got `0.5x`");
  }
  try {
    o.own["image_size"].value = "1.5";
    o.whole_number("image_size");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "image_size must be a whole number, got `1.5`");
  }
}

TEST(Program, TakesHyphensForUnderscoresInNamesOnly) {
  Options o = parsed({"--data-dir=a-b_c", "--max-steps", "5", "--model-dir", "x-y"});
  EXPECT_EQ(o.data_dir, "a-b_c");
  EXPECT_EQ(o.max_steps, 5);
  EXPECT_EQ(o.model_dir, "x-y");
}

TEST(Program, CommandLineGoesBeforeFileBeforeDefaults) {
  File file(
      R"({"max_steps": 20, "batch_size": 21, "seed": 22, "keep_checkpoints": {"newest": 2}})");
  Options o = parsed({"--max_steps", "30", "--config", file.path()},
                     {.model_dir = "m", .max_steps = 10, .batch_size = 11});
  EXPECT_EQ(o.max_steps, 30);
  EXPECT_EQ(o.batch_size, 21);
  EXPECT_EQ(o.run.seed, 22u);
  EXPECT_EQ(o.run.keep_checkpoints.newest, 2);
  EXPECT_EQ(o.model_dir, "m");
}

TEST(Program, FileHoldsEveryOptionAndField) {
  File file(R"({"data_dir": "d", "model_dir": "m", "devices": ["cpu:0"], "threads": 2,
                "save_checkpoint_steps": 4, "log_step_count": 9})");
  Options o = parsed({"--config", file.path()});
  EXPECT_EQ(o.data_dir, "d");
  EXPECT_EQ(o.model_dir, "m");
  EXPECT_THAT(o.run.devices, ElementsAre("cpu:0"));
  EXPECT_EQ(o.run.threads, 2);
  EXPECT_EQ(o.run.save_checkpoint, Every(Steps(4)));
  EXPECT_EQ(o.run.log_step_count, Steps(9));
}

TEST(Program, UnknownKeysAndWrongTypesInTheFileAreErrors) {
  {
    File file(R"({"max_step": 5})");
    std::string error = error_of({"--config", file.path()});
    EXPECT_THAT(error, HasSubstr("config: there is no field `max_step`; there are "));
    EXPECT_THAT(error, HasSubstr(std::string("(in ") + file.path() + "; batch_size, data_dir, "));
  }
  {
    File file(R"({"max_steps": "5"})");
    EXPECT_THAT(error_of({"--config", file.path()}),
                HasSubstr("config: `max_steps` must be a whole number, got \"5\" (in "));
  }
  {
    File file(R"({"data_dir": 5})");
    EXPECT_THAT(error_of({"--config", file.path()}),
                HasSubstr("config: `data_dir` must be a text, got 5 (in "));
  }
  {
    File file("[1, 2");
    EXPECT_THAT(error_of({"--config", file.path()}),
                HasSubstr("config: expected a JSON object (in "));
  }
  EXPECT_EQ(error_of({"--config", "/nowhere.json"}), "config: cannot read /nowhere.json");
}

TEST(Program, CommandLineErrorsNameTheOption) {
  EXPECT_THAT(error_of({"--batchsize", "3"}), HasSubstr("--batchsize"));
  EXPECT_THAT(error_of({"--max_steps", "many"}), HasSubstr("--max_steps"));
  EXPECT_THAT(error_of({"--max_steps"}), HasSubstr("--max_steps"));
  EXPECT_EQ(error_of({"--max_steps", "0"}), "max_steps must be above 0, got 0");
  EXPECT_EQ(error_of({"--batch_size", "-1"}), "batch_size must be above 0, got -1");
  EXPECT_EQ(error_of({"--batch_size", "3x"}),
            "batch_size must be a whole number or auto, got `3x`");
  EXPECT_EQ(error_of({"--threads", "-1"}), "RunConfig: threads must be at least 0, got -1");
  EXPECT_THAT(error_of({"--precision", "f8"}), HasSubstr("precision"));
}

struct Outcome {
  int status;
  std::string out, err;
};

Outcome outcome_of(const std::function<Results(const Options&)>& body,
                   std::vector<const char*> arguments = {}, const Options& defaults = {}) {
  arguments.insert(arguments.begin(), "program");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = run(static_cast<int>(arguments.size()), arguments.data(), defaults, body);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Program, PrintsResultsAsOneLineOfJson) {
  Outcome o = outcome_of([](const Options&) {
    return Results{{"accuracy", 0.9925}, {"loss", 1e-7}, {"global_step", 1'000'000}, {"x", NAN}};
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out,
            "{\"accuracy\": 0.9925, \"loss\": 1e-07, \"global_step\": 1000000, \"x\": null}\n");
  EXPECT_EQ(o.err, "");
}

EstimatorSpec mean_of_x(Scope s, const Batch& batch, Mode) {
  return {.loss = mean(dense(s / "line", batch["x"], {.units = 1})), .train = sgd()};
}

TEST(Program, ThePlanIsPrintedInPlaceOfResults) {
  auto body = [](const Options& o) {
    EXPECT_TRUE(o.plan);
    Dataset data = data::from_arrays({{"x", Array::zeros(Shape{5, 1}, DType::f32)}})
                   | data::batch(o.batch_size);
    Estimator estimator({.model_fn = mean_of_x, .model_dir = new_folder(), .run = o.run});
    return print_plan(o, estimator, data, {.max_steps = o.max_steps});
  };
  Outcome o = outcome_of(body, {"--plan", "--batch_size", "5", "--devices", "cpu:0,cpu:1"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("steps: from 0 to 1000\nglobal batch 5 = 2 towers: 3 + 2\n"));
  EXPECT_THAT(o.out, Not(HasSubstr("{")));
  o = outcome_of(body, {"--plan", "--devices", "cpu:0,cpu:0"});
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "error: devices: `cpu:0` is named twice\n");
}

// 4 towers of 256 rows are the most that is looked for.
TEST(Program, AnAutomaticBatchIsTheLargestThatFits) {
  std::vector<std::int64_t> sizes;
  auto body = [&](const Options& o) -> Results {
    Dataset data = data::from_arrays({{"x", Array::zeros(Shape{2000, 1}, DType::f32)}})
                   | data::batch(o.batch_size);
    Estimator estimator({.model_fn = mean_of_x, .model_dir = new_folder(), .run = o.run});
    if (o.plan) return print_plan(o, estimator, data, {.max_steps = o.max_steps});
    sizes.push_back(o.batch_size);
    return {};
  };
  Outcome o = outcome_of(body, {"--batch_size", "auto", "--devices", "cpu:0,cpu:1,cpu:2,cpu:3"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.err, HasSubstr("f32         as it takes      at least 1024\n"));
  EXPECT_THAT(o.err, HasSubstr("batch_size: 1024\n"));
  EXPECT_EQ(o.out, "");
  File file(R"({"batch_size": "auto", "devices": ["cpu:0", "cpu:1", "cpu:2"]})");
  outcome_of(body, {"--config", file.path()});
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1024, 1023}));
  outcome_of(body, {"--config", file.path(), "--batch_size", "7"});
  EXPECT_EQ(sizes.back(), 7);
}

TEST(Program, ErrorsGoToStderrWithStatusOne) {
  Outcome o = outcome_of([](const Options&) -> Results { fail("there are 3 of 4 files"); });
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "error: there are 3 of 4 files\n");
}

TEST(Program, HelpTellsOfTheProgramAndItsOptionsAndRunsNothing) {
  bool ran = false;
  Outcome o = outcome_of(
      [&](const Options&) {
        ran = true;
        return Results{};
      },
      {"--help"},
      {.about = "Learns to tell cats from dogs.",
       .data = "pictures",
       .needs_data = true,
       .own = {{"image_size", {"32", "Side of the images"}}}});
  EXPECT_EQ(o.status, 0);
  EXPECT_FALSE(ran);
  EXPECT_THAT(o.out, StartsWith("Learns to tell cats from dogs.\nUsage: program [OPTIONS]\n"));
  EXPECT_THAT(o.out, ContainsRegex("--data_dir TEXT +Folder with pictures \\[required\\]"));
  EXPECT_THAT(o.out, ContainsRegex("--image_size TEXT +Side of the images \\[32\\]"));
  for (const char* name :
       {"--help", "--model_dir", "--max_steps", "--batch_size", "--seed", "--threads",
        "--save_checkpoint_steps", "--devices", "--precision", "--plan", "--config"})
    EXPECT_THAT(o.out, HasSubstr(name));
}

TEST(Program, DataThatAreNeededAreAskedForFirst) {
  auto never = [](const Options&) -> Results { fail("it has run"); };
  Outcome o = outcome_of(never, {}, {.data = "pictures", .needs_data = true});
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.err, "error: --data_dir must name the folder with pictures\n");
  // A program without data of its own has no such option.
  o = outcome_of(never, {"--data_dir", "d"});
  EXPECT_THAT(o.err, HasSubstr("--data_dir"));
  EXPECT_THAT(o.err, Not(HasSubstr("has run")));
}

TEST(Program, ASignalIsTheShellsStatus) {
  Outcome o = outcome_of([](const Options& options) -> Results {
    EXPECT_TRUE(options.run.throw_on_signals);
    throw Interrupted("train: SIGINT at step 3", SIGINT);
  });
  EXPECT_EQ(o.status, 130);
  EXPECT_EQ(o.out + o.err, "");
}

}  // namespace
}  // namespace belfry::examples
