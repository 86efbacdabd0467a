// A training that saves after every step is killed (SIGKILL) at random moments. Whatever the
// moment, every checkpoint that is there can be read, the newest is none older than the last one
// that the training was told is durable, and each is, to the bit, what a training gives that nobody
// kills; so are the best checkpoint and export, where it keeps them.
//
// BELFRY_KILLS says how often each is killed. BELFRY_KILLS_SEED draws the times, but how far a
// training is by then depends on the machine.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "../framework/base/child_process.h"
#include "../framework/base/from_environment.h"
#include "../framework/train/golden.h"
#include "../trust/tell_count.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/hooks/evaluate/best.h"
#ifdef BELFRY_KILLED_WORKER
#include "../framework/distribute/mpi/mpirun.h"
#endif

namespace belfry {
namespace {

using Clock = std::chrono::steady_clock;

/// The checkpoints that a training was told are durable, one after the other: their steps and the
/// checksums of their files. A step whose save in the background is under way is saved again
/// where it is the best.
std::vector<std::pair<std::int64_t, std::uint32_t>> saved_by(const std::string& dir) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> out;
  std::ifstream lines(dir + ".saved");
  for (std::string line; std::getline(lines, line) && !lines.eof();) {  // whole lines alone
    std::int64_t step = 0;
    std::uint32_t checksum = 0;
    std::istringstream(line) >> step >> checksum;
    out.emplace_back(step, checksum);
  }
  return out;
}

std::int64_t last_saved(const std::string& dir) {
  auto saved = saved_by(dir);
  return saved.empty() ? -1 : saved.back().first;
}

std::uint32_t checksum_of(const std::string& path) {
  std::string bytes = read_file(path);
  return crc32c(std::as_bytes(std::span(bytes)));
}

std::set<std::string> names_in(const std::string& dir) {
  std::set<std::string> out;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(dir, missing))
    out.insert(entry.path().filename().string());
  return out;
}

void expect_same_files(const std::string& one, const std::string& other) {
  EXPECT_EQ(names_in(one), names_in(other));  // no temporary is left either
  for (const std::string& name : names_in(other)) {
    std::string path = concat(other, "/", name);
    if (std::filesystem::is_directory(path)) continue;
    EXPECT_EQ(read_file(concat(one, "/", name)), read_file(path)) << path;
  }
}

/// The names of exports are times.
void expect_same_best_export(const std::string& one, const std::string& other) {
  auto found = hooks::read_best_list(one), expected = hooks::read_best_list(other);
  ASSERT_EQ(found.has_value(), expected.has_value());
  if (!found) return;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().step, expected->front().step);
  EXPECT_EQ(found->front().value, expected->front().value);
  for (const char* file : {"/graph.json", "/model.safetensors"})
    EXPECT_EQ(read_file(concat(one, "/", found->front().file, file)),
              read_file(concat(other, "/", expected->front().file, file)));
}

struct Case {
  std::string kind;
  bool background;
  int workers = 1;
};

std::string to_string(const Case& c) {
  return c.kind + (c.background ? "_SavedInTheBackground" : "_SavedBetweenSteps");
}
void PrintTo(const Case& c, std::ostream* out) { *out << to_string(c); }

class Kills : public ::testing::TestWithParam<Case> {
 protected:
  ChildProcess start(const std::string& dir, std::int64_t last_step) const {
    const Case& c = GetParam();
    std::vector<std::string> words{c.kind, dir, text(last_step), c.background ? "1" : "0", data};
#ifdef BELFRY_KILLED_WORKER
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);  // seconds that the others are left
    if (c.workers > 1) return MpiJob(BELFRY_KILLED_WORKER, words, c.workers, dir + ".log");
#endif
    words.insert(words.begin(), BELFRY_KILLED_TRAINING);
    return ChildProcess(words, dir + ".log");
  }

  void run_to_its_end(const std::string& dir, std::int64_t last_step) const {
    ChildProcess child = start(dir, last_step);
    EXPECT_EQ(child.wait(), 0) << read_file(dir + ".log");
  }

  /// The process itself; of a job one worker, or all of them. False: there is none yet.
  bool kill_some(const ChildProcess& child, const std::string& dir) {
    int workers = GetParam().workers;
    if (workers == 1) return ::kill(child.id(), SIGKILL) == 0;
    auto victim = static_cast<int>(random.below(static_cast<std::uint64_t>(workers) + 1));
    bool killed = false;
    for (int rank = 0; rank < workers; ++rank) {
      pid_t id = 0;
      std::ifstream(concat(dir, ".pid_", rank)) >> id;
      if (id > 0 && (victim == rank || victim == workers)) killed |= ::kill(id, SIGKILL) == 0;
    }
    return killed;
  }

  /// One life, which ends by a kill.
  void live_and_die(const std::string& dir, int number);
  /// The life since the last call has saved steps after those that were reported before it.
  void expect_newer_steps(const std::string& dir);
  /// Checks the conditions that must hold after each life.
  void check_what_is_left(const std::string& dir);

  std::string data;
  std::int64_t seed = from_environment("BELFRY_KILLS_SEED", 1);
  PhiloxStream random{philox_key(static_cast<std::uint64_t>(seed), "moments")};
  std::chrono::microseconds start_up{200'000};  // of the life before, up to its first checkpoint
  std::vector<std::pair<std::int64_t, std::uint32_t>> newest;  // after each kill, as saved_by() is
  std::size_t reported = 0;                                    // checkpoints, by earlier lives
  int in_a_write = 0, before_a_save = 0;
};

void Kills::live_and_die(const std::string& dir, int number) {
  for (int rank = 0; rank < GetParam().workers; ++rank)
    std::filesystem::remove(concat(dir, ".pid_", rank));
  std::int64_t before = last_saved(dir);
  Clock::time_point begin = Clock::now();
  ChildProcess child = start(dir, 1'000'000);
  // Every fourth may die while it starts; the others get further.
  auto most = start_up;
  if (number % 4 != 0) {
    while (child.running() && last_saved(dir) <= before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    start_up = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    most = std::chrono::milliseconds(30);
  }
  std::this_thread::sleep_for(
      std::chrono::microseconds(random.below(static_cast<std::uint64_t>(most.count()))));
  while (child.running() && !kill_some(child, dir))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int status = child.wait();
  if (GetParam().workers == 1) {
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "kill " << number << " found it ended: " << read_file(dir + ".log");
  } else {
    ASSERT_NE(status, 0) << "kill " << number;
  }
  if (last_saved(dir) == before) ++before_a_save;
}

void Kills::expect_newer_steps(const std::string& dir) {
  const auto saved = saved_by(dir);
  for (std::size_t i = reported; reported > 0 && i < saved.size(); ++i)
    EXPECT_GT(saved[i].first, saved[reported - 1].first) << "it went on from an older checkpoint";
  reported = saved.size();
}

void Kills::check_what_is_left(const std::string& dir) {
  for (const std::string& name : names_in(dir)) in_a_write += name.find(".tmp.") != name.npos;
  std::vector<CheckpointFile> files = list_checkpoints(dir);
  for (const CheckpointFile& file : files)
    EXPECT_EQ(error_of([&] { require(load_checkpoint(file.path).step == file.step, "its step"); }),
              "no error");
  for (const char* best : {"/best", "/export/best"})
    for (const auto& entry :
         hooks::read_best_list(dir + best).value_or(std::vector<hooks::BestEntry>()))
      EXPECT_TRUE(std::filesystem::exists(concat(dir, best, "/", entry.file)));
  expect_newer_steps(dir);
  const auto saved = saved_by(dir);
  if (saved.empty()) return;
  ASSERT_FALSE(files.empty());
  EXPECT_GE(files.back().step, saved.back().first);
  newest.emplace_back(files.back().step, checksum_of(files.back().path));
}

TEST_P(Kills, LoseNothingAndLeaveNoTrace) {
  if (GetParam().kind == "mnist") {
    std::string why, folder = golden::mnist_folder(why);
    if (folder.empty()) GTEST_SKIP() << why;
    data = folder;
  }
  TemporaryFolder folder;
  std::string killed = folder / "killed", whole = folder / "whole";
  std::int64_t kills = from_environment("BELFRY_KILLS", GetParam().workers > 1 ? 4 : 8);
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE(concat("kill ", kill, ", seed ", seed));
    live_and_die(killed, kill);
    if (!HasFailure()) check_what_is_left(killed);
    ASSERT_FALSE(HasFailure());
  }
  std::int64_t reached = last_saved(killed), last_step = reached + 3;
  EXPECT_GT(reached, 0);
  run_to_its_end(killed, last_step);
  expect_newer_steps(killed);
  run_to_its_end(whole, last_step);

  const auto promised = saved_by(killed), all = saved_by(whole);
  newest.insert(newest.end(), promised.begin(), promised.end());
  newest.insert(newest.end(), all.begin(), all.end());  // steps that were saved twice
  const std::map<std::int64_t, std::uint32_t> expected(all.begin(), all.end());
  EXPECT_EQ(expected.size(), static_cast<std::size_t>(last_step) + 1);
  for (const auto& [step, checksum] : newest) EXPECT_EQ(checksum, expected.at(step)) << step;
  expect_same_files(killed, whole);
  expect_same_files(killed + "/best", whole + "/best");  // best.json too
  expect_same_best_export(killed + "/export/best", whole + "/export/best");
  std::cout << kills << " kills, seed " << seed << ": " << in_a_write
            << " while a file was written, " << before_a_save << " before a new checkpoint; "
            << reached << " steps, all checkpoints readable, none older than one promised, "
            << promised.size() << " promised ones bit-identical to those of an undisturbed run\n";
  tell_count(kills, "kills of a training");
}

// Until the first has died, whose lock counts no more.
TEST(SecondTraining, IsRefusedWithTheProcessThatTrains) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  auto start = [&](const std::string& steps, const std::string& log) {
    return ChildProcess({BELFRY_KILLED_TRAINING, "digits", dir, steps, "0", ""}, log);
  };
  ChildProcess first = start("1000000", dir + ".log");
  while (first.running() && last_saved(dir) < 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // Held, so that few steps are left for the second if nobody refuses it.
  ASSERT_EQ(::kill(first.id(), SIGSTOP), 0);
  EXPECT_NE(start(text(last_saved(dir) + 10), dir + ".second").wait(), 0);
  EXPECT_THAT(read_file(dir + ".second"),
              ::testing::HasSubstr(concat("somebody else trains in `", dir, "`: process ",
                                          first.id(), " on host ")));
  ASSERT_EQ(::kill(first.id(), SIGKILL), 0);
  first.wait();
  EXPECT_EQ(start(text(last_saved(dir) + 1), dir + ".log").wait(), 0) << read_file(dir + ".log");
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const char* kind : {"digits", "mnist", "gan", "averaged", "language", "split"})
    for (bool background : {false, true}) out.push_back({kind, background});
#ifdef BELFRY_KILLED_WORKER
  for (bool background : {false, true}) out.push_back({"workers", background, 2});
#endif
  return out;
}

INSTANTIATE_TEST_SUITE_P(Of, Kills, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace belfry
