// Checkpoints that are good safetensors files with something else than Belfry writes in them, or no
// files at all. Errors name the file and the entry; training goes on from an older checkpoint, or
// says what is wrong.

#include <sys/stat.h>

#include "belfry/framework/base/file.h"
#include "resuming_model.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Metadata good_metadata() {
  return {{"belfry.checkpoint", "1"}, {"belfry.global_step", "3"}, {"belfry.seed", "1"},
          {"belfry.input", ""},       {"belfry.hooks", "{}"},      {"belfry.config", "{}"},
          {"belfry.version", "0.1"}};
}

struct BadEntry {
  const char* key;
  std::string value;  ///< "<none>": it is missing
  std::string message;
};

std::vector<BadEntry> bad_entries() {
  std::vector<BadEntry> out;
  for (const char* key :
       {"belfry.checkpoint", "belfry.global_step", "belfry.seed", "belfry.input", "belfry.hooks"})
    out.push_back({key, "<none>", concat("no entry `", key, "` in its metadata")});
  for (const char* format : {"", "0", "2", "01", "1 ", "one"})
    out.push_back(
        {"belfry.checkpoint", format,
         concat("checkpoint format ", format, " is not the one that this version reads, 1; if a ",
                "newer Belfry wrote it, update to read it")});
  const char* no_numbers[] = {"",
                              " ",
                              "3x",
                              "x",
                              " 3",
                              "+3",
                              "3.0",
                              "3e0",
                              "0x3",
                              "nan",
                              "9223372036854775808",
                              "-9223372036854775809",
                              "99999999999999999999999999999999999999"};
  for (const char* number : no_numbers)
    out.push_back({"belfry.global_step", number,
                   concat("metadata entry `belfry.global_step` is not a number: `", number, "`")});
  for (const char* number : {"-1", "-9223372036854775808"})
    out.push_back({"belfry.global_step", number,
                   concat("metadata entry `belfry.global_step` is negative: ", number)});
  for (const char* number : {"", "-1", "1.5", "18446744073709551616", "0x1", "seed"})
    out.push_back({"belfry.seed", number,
                   concat("metadata entry `belfry.seed` is not a number: `", number, "`")});
  for (const char* hooks : {"", "x", "{", "{}x", "{\"a\"}", "{\"a\":\"\\ud800\"}"})
    out.push_back({"belfry.hooks", hooks, "metadata entry `belfry.hooks`: not JSON: line 1"});
  for (const char* hooks : {"null", "[]", "3"})
    out.push_back({"belfry.hooks", hooks,
                   concat("metadata entry `belfry.hooks` must be an object, got ", hooks)});
  out.push_back({"belfry.hooks", std::string(100'000, '['),
                 "metadata entry `belfry.hooks`: nested more than 64 deep"});
  for (const char* state : {"1", "null", "{}", "[\"x\"]", "true"})
    out.push_back({"belfry.hooks", concat("{\"a\": ", state, "}"),
                   concat("metadata entry `belfry.hooks`: `a` must be a string, got ", state)});
  return out;
}

TEST(HostileCheckpoint, EveryBadEntryIsNamed) {
  TemporaryFolder dir;
  std::string path = checkpoint_path(dir.path(), 3);
  NamedArrays tensors{{"w", Array::scalar(1.0f)}};
  for (const BadEntry& bad : bad_entries()) {
    SCOPED_TRACE(concat(bad.key, " = ", bad.value.substr(0, 100)));
    Metadata metadata = good_metadata();
    metadata[bad.key] = bad.value;
    if (bad.value == "<none>") metadata.erase(bad.key);
    save_safetensors(path, tensors, metadata);
    EXPECT_THAT(error_of([&] { load_checkpoint(path); }),
                AllOf(HasSubstr(bad.message), ::testing::EndsWith("(checkpoint " + path + ")")));
  }
}

// The record of how it was trained is for people: no code reads it back.
TEST(HostileCheckpoint, AnyTextMayBeTheConfigurationAndTheVersion) {
  TemporaryFolder dir;
  for (const char* value : {"", "{", "null", "\"", "99.99.99", "\u00fc"}) {
    Metadata metadata = good_metadata();
    metadata["belfry.config"] = metadata["belfry.version"] = value;
    save_safetensors(dir / "x", {}, metadata);
    EXPECT_EQ(load_checkpoint(dir / "x").config, value);
  }
}

TEST(HostileCheckpoint, WhatIsNoFileOrHasAnotherStepStandsAside) {
  TemporaryFolder dir;
  save_checkpoint(dir.path(), {.variables = {{"w", Array::scalar(1.0f)}}, .step = 1},
                  {.newest = 0});
  auto path = [&](std::int64_t step) { return checkpoint_path(dir.path(), step); };
  std::filesystem::copy_file(path(1), path(2));  // its metadata says 1
  std::filesystem::create_directory(path(3));
  std::filesystem::create_symlink(path(4), path(4));
  std::filesystem::create_symlink(dir / "nowhere", path(5));
  ASSERT_EQ(::mkfifo(path(6).c_str(), 0600), 0);
  write_file_atomically(path(7), "");
  CapturedLog log;
  EXPECT_EQ(load_latest_checkpoint(dir.path())->step, 1);
  EXPECT_THAT(log.warnings, HasSubstr("metadata entry `belfry.global_step` is 1, but the file's "
                                      "name says 2"));
  for (std::int64_t step = 2; step <= 7; ++step)
    EXPECT_THAT(log.warnings,
                ::testing::ContainsRegex(
                    concat("cannot use a checkpoint, trying an older one: [^\n]*", path(step))));
}

class HostileState : public ::testing::Test {
 protected:
  HostileState() {
    train();
    state = load_checkpoint(path);
  }
  /// Trains one step more than there are.
  void train(const Hooks& hooks = {}) {
    Estimator estimator({.model_fn = resuming_model, .model_dir = dir.path(), .run = quiet()});
    estimator.train(shuffled_digits_of(1), {.steps = 1, .hooks = hooks});
  }
  std::string error_with(const Checkpoint& checkpoint, const Hooks& hooks = {}) {
    for (const CheckpointFile& file : list_checkpoints(dir.path()))
      std::filesystem::remove(file.path);
    write_checkpoint(path, checkpoint);
    return error_of([&] { train(hooks); });
  }
  TemporaryFolder dir;
  CapturedLog log;
  std::string path = checkpoint_path(dir.path(), 1);
  Checkpoint state;
};

// Cut anywhere, or with any character replaced, it either fits or says what does not.
TEST_F(HostileState, ADamagedPositionOfTheDataIsNamed) {
  std::string good = state.input;
  std::vector<std::string> positions{"x", "\n", "=", "a=1", "-1", good + " more=1", good + good};
  for (std::size_t size = 1; size < good.size(); size += 3)
    positions.push_back(good.substr(0, size));
  for (std::size_t at = 0; at < good.size(); at += 3) {
    positions.push_back(good);
    positions.back()[at] = at % 2 == 0 ? 'x' : '-';
  }
  for (std::size_t at = 0; (at = good.find_first_of("0123456789", at)) != good.npos;) {
    std::size_t end = std::min(good.find_first_not_of("0123456789", at), good.size());
    for (const char* number : {"9223372036854775807", "9223372036854775808", "1000000", "-1"})
      positions.push_back(good.substr(0, at) + number + good.substr(end));
    at = end;
  }
  int refused = 0;
  for (const std::string& position : positions) {
    state.input = position;
    std::string error = error_with(state);
    if (error == "no error") continue;
    ++refused;
    EXPECT_THAT(error, AllOf(HasSubstr("(while restoring the input position of the checkpoint; "
                                       "train with .resume_input = false to begin the data anew)"),
                             HasSubstr("(from entry `belfry.input` of " + path + ")")))
        << position;
  }
  EXPECT_GT(refused, static_cast<int>(positions.size()) * 3 / 4) << good;
}

TEST_F(HostileState, AStateThatAHookCannotReadIsNamed) {
  struct Picky final : Hook {
    std::string name() const override { return "picky"; }
    std::string state() const override { return "x"; }
    void restore(const std::string& s) override { require(s == "x", "cannot read `", s, "`"); }
  };
  for (const char* bad : {"", "y", "{\"x\"}", "\u00fc"}) {
    state.hooks = {{"picky", bad}, {"stranger", bad}};
    EXPECT_THAT(error_with(state, {std::make_shared<Picky>()}),
                HasSubstr(concat("cannot read `", bad,
                                 "` (while restoring the state of hook picky "
                                 "from entry `belfry.hooks` of ",
                                 path, ")")));
  }
}

}  // namespace
}  // namespace belfry
