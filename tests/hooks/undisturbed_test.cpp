// Evaluation and prediction from within a training change no variable, no random number and no
// place in the data. Those of the hooks are in validate_test.cpp and samples_test.cpp.
#include "undisturbed.h"

#include <filesystem>
#include <fstream>

#include "belfry/hooks/tensorboard/summaries.h"
#include "tensorboard/events.h"

namespace belfry::hooks {
namespace {

/// Calls `look` after every step.
std::shared_ptr<Hook> after_each_step(std::function<void()> look) {
  struct Looks final : Hook {
    explicit Looks(std::function<void()> f) : look(std::move(f)) {}
    bool needs_result_now(HookContext&, std::int64_t) override { return true; }
    void after_step(const StepResult&) override { look(); }
    std::function<void()> look;
  };
  return std::make_shared<Looks>(std::move(look));
}

TEST(Undisturbed, ByEvaluation) {
  int steps = 0;
  expect_undisturbed([&](Estimator& watched) {
    return after_each_step([&] {
      EvalResult result = watched.evaluate(shuffled_points(), {.steps = 3});
      EXPECT_EQ(result.at("global_step"), steps++ % 7 + 1);
    });
  });
  EXPECT_EQ(steps, 2 * 7);
}

TEST(Undisturbed, ByEvaluationOfTheMovingAverages) {
  expect_undisturbed([](Estimator& watched) {
    return after_each_step([&watched, step = 0]() mutable {
      double live = watched.evaluate(shuffled_points(), {.steps = 2}).at("loss");
      double averaged =
          watched.evaluate(shuffled_points(), {.steps = 2, .averaged = true}).at("loss");
      EXPECT_EQ(live == averaged, ++step == 1);  // the first is the average's beginning
    });
  });
}

TEST(Undisturbed, ByEvaluationOfAnotherCheckpoint) {
  expect_undisturbed([](Estimator& watched) {
    return after_each_step([&] {
      EvalOptions first{.steps = 2, .checkpoint = checkpoint_path(watched.model_dir(), 0)};
      EXPECT_EQ(watched.evaluate(shuffled_points(), first).at("global_step"), 0);
    });
  });
}

// The first breaks off while the data go on.
TEST(Undisturbed, ByPrediction) {
  expect_undisturbed([](Estimator& watched) {
    return after_each_step([&] {
      int rows = 0;
      for (const Features& row : watched.predict(shuffled_points()))
        if (++rows == 6 && row.at("y").elements() == 1) break;
      Features row;
      while (watched.predict(once({points({1, 2}, {0, 0})})).next(row) && ++rows < 8) {
      }
      EXPECT_EQ(rows, 8);
    });
  });
}

// Files that an earlier run, or somebody else, left among event files: Belfry reads none of them.
TEST(Undisturbed, ByHostileEventFiles) {
  expect_undisturbed([](Estimator& watched) {
    std::filesystem::path dir = watched.model_dir();
    std::string name = "events.out.tfevents.000000000";
    std::filesystem::create_directories(dir / (name + "0.a.1.0000"));
    std::filesystem::create_symlink(dir / (name + "1.a.1.0000"), dir / (name + "1.a.1.0000"));
    std::filesystem::create_symlink(dir / "nowhere", dir / (name + "2.a.1.0000"));
    std::ofstream(dir / (name + "3.a.1.0000")) << std::string(1000, '\xff');
    std::ofstream(dir / (name + "4.a.1.0000")) << "";
    std::ofstream unreadable(dir / (name + "5.a.1.0000"));
    std::filesystem::permissions(dir / (name + "5.a.1.0000"), std::filesystem::perms::none);
    return summaries({.every = Steps(1)});
  });
}

// A folder is where the next file would be: what cannot be written is left out, with a warning.
TEST(Undisturbed, ByAnEventFileThatCannotBeMade) {
  CapturedLog log;
  auto clock = [] { return 1234.0; };
  expect_undisturbed([&](Estimator& watched) {
    std::string path = EventFile(watched.model_dir(), {.wall_time = clock}).path();
    std::size_t dot = path.rfind('.');
    std::string next = std::to_string(std::stoi(path.substr(dot + 1)) + 1);
    std::filesystem::create_directories(path.substr(0, dot + 1) + std::string(4 - next.size(), '0')
                                        + next);
    auto file =
        std::make_shared<EventFile>(watched.model_dir(), EventFileOptions{.wall_time = clock});
    return after_each_step([file] {
      file->add(1, {scalar_summary("loss", 1)});
      file->flush();
    });
  });
  EXPECT_THAT(log.warnings, testing::HasSubstr("event file: cannot write to `"));
}

}  // namespace
}  // namespace belfry::hooks
