#include "belfry/framework/train/run_config.h"

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error(std::string_view json) {
  return error_of([&] { run_config_from_json(json); });
}

TEST(RunConfig, HasTheUsualDefaults) {
  RunConfig config = run_config_from_json("{}");
  EXPECT_THAT(config.devices, ElementsAre("cpu"));
  EXPECT_EQ(config.save_checkpoint, Every(std::chrono::seconds(600)));
  EXPECT_EQ(config.keep_checkpoints.newest, 5);
  EXPECT_EQ(config.log_step_count, Steps(100));
  EXPECT_TRUE(config.stop_on_signals);
  EXPECT_FALSE(config.check_numerics);
}

TEST(RunConfig, ReadsEveryField) {
  RunConfig config = run_config_from_json(R"({"devices": ["cpu:0"], "save_checkpoint_steps": 500,
      "keep_checkpoints": {"newest": 0}, "log_step_count": 7, "seed": 18446744073709551615,
      "threads": 3, "memory_limit": 1000000, "plans": 5, "stop_on_signals": false,
      "check_numerics": true, "split": 2})");
  EXPECT_THAT(config.devices, ElementsAre("cpu:0"));
  EXPECT_EQ(config.split.devices, 2);
  EXPECT_EQ(config.save_checkpoint, Every(Steps(500)));
  EXPECT_EQ(config.keep_checkpoints.newest, 0);
  EXPECT_EQ(config.log_step_count, Steps(7));
  EXPECT_EQ(config.seed, 0xFFFFFFFFFFFFFFFF);
  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.memory_limit, MemoryLimit(Bytes(1000000)));
  EXPECT_EQ(config.plans, 5);
  EXPECT_FALSE(config.stop_on_signals);
  EXPECT_TRUE(config.check_numerics);
  EXPECT_EQ(run_config_from_json(R"({"save_checkpoint": {"seconds": 60}})").save_checkpoint,
            Every(std::chrono::seconds(60)));
  EXPECT_EQ(run_config_from_json(R"({"save_checkpoint": {"milliseconds": 60}})").save_checkpoint,
            Every(std::chrono::milliseconds(60)));
  EXPECT_EQ(run_config_from_json(R"({"save_checkpoint": {"steps": 9}})").save_checkpoint,
            Every(Steps(9)));
  EXPECT_EQ(run_config_from_json(R"({"save_checkpoint": null})").save_checkpoint, std::nullopt);
}

TEST(RunConfig, SpellsLimitsAndRecomputationInSeveralWays) {
  for (const char* json :
       {R"({"memory_limit":0.25})", R"({"memory_limit":1.0})", R"({"recompute":["a","b/c"]})",
        R"({"recompute":{"only":["a"]}})", R"({"recompute":"off"})"}) {
    RunConfig config = run_config_from_json(json);
    EXPECT_THAT(to_json(config), HasSubstr(std::string(json).substr(1, std::strlen(json) - 2)));
  }
  EXPECT_EQ(run_config_from_json(R"({"memory_limit": 0.25})").memory_limit.fraction, 0.25);
  RunConfig only = run_config_from_json(R"({"recompute": {"only": ["a"]}})");
  EXPECT_FALSE(only.recompute.automatic);
  EXPECT_THAT(only.recompute.scopes, ElementsAre("a"));
}

TEST(RunConfig, KeepsWhatIsNotNamed) {
  RunConfig mine;
  mine.seed = 42;
  mine.threads = 2;
  RunConfig config = run_config_from_json(R"({"threads": 1})", mine);
  EXPECT_EQ(config.seed, 42u);
  EXPECT_EQ(config.threads, 1);
}

TEST(RunConfig, IsWrittenAsItIsRead) {
  // Each value is another than the default, and each key is one that JSON may have.
  std::string all =
      R"({"devices":["cpu:0","cpu:1+cpu:2"],"split":2,"batch":"per_tower","variables":"central",)"
      R"("reduction":"hierarchical","bucket":5,"reduction_timeout":10,)"
      R"("save_checkpoint":{"steps":11},"save_in_background":true,)"
      R"("keep_checkpoints":{"newest":3,"every":{"steps":7200},"multiples_of":12},)"
      R"("log_step_count":8,"seed":18446744073709551615,"precision":"bf16","tf32":false,)"
      R"("exact_convolutions":true,"capture_steps":false,"threads":4,"memory_limit":9,)"
      R"("recompute":"off","plans":7,"stop_on_signals":false,"throw_on_signals":true,)"
      R"("fail_on_non_finite":false,"check_numerics":true})";
  EXPECT_EQ(to_json(run_config_from_json(all)), all);
  std::string usual = to_json(RunConfig());
  EXPECT_THAT(usual, HasSubstr(R"("save_checkpoint":{"seconds":600})"));
  EXPECT_THAT(usual, HasSubstr(R"("keep_checkpoints":{"newest":5,"every":null,"multiples_of":0})"));
  EXPECT_EQ(to_json(run_config_from_json(usual)), usual);
  EXPECT_THAT(to_json(run_config_from_json(R"({"save_checkpoint": null})")),
              HasSubstr(R"("save_checkpoint":null)"));
}

TEST(RunConfig, NamesWhatIsWrong) {
  EXPECT_EQ(error("[1]"), "config must be a JSON object, got [1]");
  EXPECT_THAT(error("{"), StartsWith("config: not JSON: line 1, column 2: syntax error"));
  EXPECT_EQ(
      error(R"({"sed": 1})"),
      "config: there is no field `sed`; there are devices, split, batch, variables, reduction, "
      "bucket, reduction_timeout, save_checkpoint, save_in_background, keep_checkpoints, "
      "log_step_count, seed, precision, tf32, exact_convolutions, capture_steps, threads, "
      "memory_limit, recompute, plans, stop_on_signals, throw_on_signals, fail_on_non_finite, "
      "check_numerics, save_checkpoint_steps");
  EXPECT_EQ(error(R"({"threads": "two"})"),
            "config: `threads` must be a whole number, got \"two\"");
  EXPECT_EQ(error(R"({"threads": 1.5})"), "config: `threads` must be a whole number, got 1.5");
  EXPECT_EQ(error(R"({"threads": 4294967297})"),
            "config: `threads` must be in 0..2147483647, got 4294967297");
  EXPECT_EQ(error(R"({"keep_checkpoints": 5})"),
            "config: `keep_checkpoints` must be a JSON object, got 5");
  EXPECT_EQ(
      error(R"({"keep_checkpoints": {"max": 5}})"),
      "config: there is no field `keep_checkpoints.max`; there are newest, every, multiples_of");
  EXPECT_EQ(error(R"({"keep_checkpoints": {"newest": -1}})"),
            "config: `keep_checkpoints.newest` must be in 0..2147483647, got -1");
  EXPECT_EQ(
      error(R"({"keep_checkpoints": {"every": {"steps": 0}}})"),
      "RunConfig: keep_checkpoints.every must be above 0, got 0 steps; std::nullopt turns it off");
  for (const char* seconds : {"9223372036854775807", "-9223372036854775807", "0"})
    EXPECT_EQ(
        error(concat(R"({"keep_checkpoints": {"every": {"seconds": )", seconds, "}}}")),
        concat("config: `keep_checkpoints.every.seconds` must be in 1..9223372036854775, got ",
               seconds));
  EXPECT_EQ(error(R"({"keep_checkpoints": {"multiples_of": -1}})"),
            "config: `keep_checkpoints.multiples_of` must be at least 0, got -1");
  EXPECT_EQ(error(R"({"seed": -1})"),
            "config: `seed` must be a whole number of at least 0, got -1");
  EXPECT_EQ(error(R"({"memory_limit": 18446744073709551615})"),
            "config: `memory_limit` must be a whole number, got 18446744073709551615");
  EXPECT_EQ(error(R"({"check_numerics": 1})"),
            "config: `check_numerics` must be true or false, got 1");
  EXPECT_EQ(error(R"({"devices": "cpu"})"), "config: `devices` must be a list, got \"cpu\"");
  EXPECT_EQ(error(R"({"devices": ["cpu", 1]})"), "config: `devices[1]` must be a string, got 1");
  EXPECT_EQ(error(R"({"save_checkpoint_steps": 5, "save_checkpoint": {"seconds": 5}})"),
            "config: save_checkpoint and save_checkpoint_steps are two forms of one cadence; keep "
            "one");
  EXPECT_EQ(error(R"({"save_checkpoint": {"steps": 1.5}})"),
            "config: `save_checkpoint.steps` must be a whole number, got 1.5");
  for (const char* cadence : {"5", "{}", R"({"minutes":5})", R"({"seconds":5,"steps":5})"})
    EXPECT_EQ(error(concat(R"({"save_checkpoint": )", cadence, "}")),
              concat("config: `save_checkpoint` must be {\"steps\": n}, {\"seconds\": n}, "
                     "{\"milliseconds\": n} or null, got ",
                     cadence));
}

TEST(RunConfig, RangesAreChecked) {
  EXPECT_EQ(error(R"({"devices": []})"), "RunConfig: devices is empty; name one, for example cpu");
  EXPECT_EQ(error(R"({"save_checkpoint_steps": 0})"),
            "RunConfig: save_checkpoint must be above 0, got 0 steps; std::nullopt turns saving "
            "off");
  EXPECT_EQ(error(R"({"save_checkpoint": {"milliseconds": -2000}})"),
            "RunConfig: save_checkpoint must be above 0, got -2 s; std::nullopt turns saving off");
  EXPECT_EQ(error(R"({"log_step_count": -1})"),
            "config: `log_step_count` must be at least 0, got -1");
  EXPECT_EQ(error(R"({"split": -1})"), "config: `split` must be in 0..2147483647, got -1");
  EXPECT_EQ(error(R"({"bucket": 0})"), "config: `bucket` must be at least 1, got 0");
  for (const char* share : {"1.5", "0.0", "-0.5"})
    EXPECT_THAT(
        error(concat(R"({"memory_limit": )", share, "}")),
        HasSubstr("memory_limit must be a fraction in (0, 1] of the device's memory, got "));
  EXPECT_EQ(error(R"({"recompute": "on"})"),
            "config: `recompute` must be automatic, off, a list of scopes or {\"only\": [scopes]}, "
            "got \"on\"");
  EXPECT_EQ(error(R"({"memory_limit": -1})"), "RunConfig: memory_limit must be at least 0, got -1");
  EXPECT_EQ(error(R"({"plans": 0})"), "config: `plans` must be in 1..2147483647, got 0");
  RunConfig config;
  config.threads = -1;
  EXPECT_EQ(error_of([&] { validate(config); }), "RunConfig: threads must be at least 0, got -1");
  config = {};
  config.reduction_timeout = std::chrono::seconds(0);
  EXPECT_EQ(error_of([&] { validate(config); }),
            "RunConfig: reduction_timeout must be at least 1, got 0");
  config = {};
  config.keep_checkpoints.newest = -1;
  EXPECT_EQ(error_of([&] { Estimator({.model_fn = falling, .model_dir = "x", .run = config}); }),
            "RunConfig: keep_checkpoints.newest must be at least 0, got -1");
}

TEST(RunConfig, DevicesMustExist) {
  RunConfig config;
  config.devices = {"tpu"};
  EXPECT_EQ(error_of([&] { Estimator({.model_fn = falling, .model_dir = "x", .run = config}); }),
            "device: there is no `tpu` in this build; it knows cpu (named in RunConfig::devices; "
            "all_gpus_or_cpu() names what this machine has)");
  EXPECT_THAT(all_gpus_or_cpu(), ElementsAre("cpu"));
}

}  // namespace
}  // namespace belfry
