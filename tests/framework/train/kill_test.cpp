// Training that is killed at random moments and started again ends bit-identical to one that ran
// through.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "belfry/framework/base/file.h"
#include "training_testing.h"

extern char** environ;

namespace belfry {
namespace {

class Child {
 public:
  Child(const std::string& model_dir, std::int64_t last_step, int pause_ms, bool background) {
    std::string program = BELFRY_TRAIN_TO_THE_END, dir = model_dir, steps = text(last_step),
                pause = text(pause_ms), in_background = background ? "1" : "0";
    char* arguments[] = {program.data(), dir.data(),           steps.data(),
                         pause.data(),   in_background.data(), nullptr};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);  // 1: O_WRONLY
    if (posix_spawn(&id_, program.c_str(), &quiet, nullptr, arguments, environ) != 0)
      fail("cannot start ", program);
    posix_spawn_file_actions_destroy(&quiet);
  }
  bool running() {
    if (!ended_) ended_ = waitpid(id_, &status_, WNOHANG) == id_;
    return !ended_;
  }
  int wait() {
    if (!ended_) waitpid(id_, &status_, 0);
    ended_ = true;
    return status_;
  }
  void kill() { ::kill(id_, SIGKILL); }

 private:
  pid_t id_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

std::int64_t newest(const std::string& dir) {
  auto files = list_checkpoints(dir);
  return files.empty() ? -1 : files.back().step;
}

struct Case {
  const char* name;
  bool background;
  int kills;
  std::int64_t last_step;
};
class Kills : public ::testing::TestWithParam<Case> {};

TEST_P(Kills, LeaveNoTrace) {
  const auto [name, background, kills, last_step] = GetParam();
  TemporaryFolder whole, killed;
  EXPECT_EQ(Child(whole.path(), last_step, 0, background).wait(), 0);

  PhiloxStream random(philox_key(1, "moments"));
  for (int kill = 0; kill < kills; ++kill) {
    std::int64_t before = newest(killed.path());
    Child child(killed.path(), last_step, 3, background);
    // Every fourth may die while it starts; the others get at least one checkpoint further.
    while (kill % 4 != 0 && child.running() && newest(killed.path()) <= before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(40'000)));
    child.kill();
    int status = child.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << "kill " << kill << " came after the end";
  }
  EXPECT_GE(newest(killed.path()), kills * 3 / 4);
  EXPECT_LT(newest(killed.path()), last_step);
  EXPECT_EQ(Child(killed.path(), last_step, 0, background).wait(), 0);

  EXPECT_EQ(saved_steps(killed.path()), (std::vector<std::int64_t>{last_step - 2, last_step}));
  EXPECT_EQ(killed.names(), whole.names());  // no temporary is left either
  EXPECT_EQ(read_file(checkpoint_path(killed.path(), last_step)),
            read_file(checkpoint_path(whole.path(), last_step)));
}

INSTANTIATE_TEST_SUITE_P(Of, Kills,
                         ::testing::Values(Case{"ASaverBetweenSteps", false, 20, 2000},
                                           Case{"ASaverInTheBackground", true, 12, 600}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry
