// Long work takes no more of the process than short work: memory that malloc has given out, memory
// of the process, open files and threads are as many after four times the work, and so are the
// files in a model_dir. The time of processors that each quarter of the work takes is printed;
// nothing is expected of it.
//
// BELFRY_SOAK says how many times the usual work is done.
#include <dirent.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "../../framework/base/from_environment.h"
#include "../../framework/base/temporary_folder.h"
#include "../../framework/train/resuming_model.h"
#include "../tell_count.h"
#include "belfry/framework/framework.h"
#include "belfry/hooks/hooks.h"

namespace belfry {
namespace {

// Blocks that wait in a thread's cache count as given out, and would hide small leaks. The
// environment alone turns these caches off, before a program starts; glibc passes the arguments.
[[gnu::constructor]] void begin_without_caches(int, char** arguments, char**) {
  constexpr const char* name = "GLIBC_TUNABLES";
  if (::getenv(name)) return;
  ::setenv(name, "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1", 0);
  ::execv("/proc/self/exe", arguments);
}

std::int64_t soak(std::int64_t usual) { return usual * from_environment("BELFRY_SOAK", 1); }

std::int64_t entries(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// Bytes of memory that the process has, whoever asked for them.
std::int64_t resident_bytes() {
  std::int64_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

struct Used {
  std::int64_t bytes = 0, resident = 0, files = 0, threads = 0;

  static Used now() {
    struct mallinfo2 info = mallinfo2();
    return {static_cast<std::int64_t>(info.uordblks + info.hblkhd), resident_bytes(),
            entries("/proc/self/fd"), entries("/proc/self/task")};
  }
};

double seconds_of_processors() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  auto seconds = [](timeval t) { return t.tv_sec + 1e-6 * t.tv_usec; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class Soak : public testing::Test {
 protected:
  Soak() : before_(set_log_sink([](LogLevel, std::string_view) {})) {}
  ~Soak() override { set_log_sink(before_); }

  /// `work(n)` does the work n more times.
  template <class Work>
  void expect_flat(std::int64_t times, const char* what, Work work) {
    std::printf("microseconds of processors for each, in four quarters:");
    auto a_quarter = [&] {
      double before = seconds_of_processors();
      work(times / 4);
      std::printf(" %.2f", 1e6 * (seconds_of_processors() - before) / (times / 4));
      return Used::now();
    };
    Used first = a_quarter();  // makes all that is made once
    a_quarter();
    a_quarter();
    Used last = a_quarter();
    std::printf("\n");
    // oneTBB starts its threads when they are first needed, and each has memory of its own. The
    // bounds do not grow with the work, so that more of it finds smaller leaks: malloc's smallest
    // block, of 32 bytes, is too much a step in the usual 1500 steps, but too much a pipeline only
    // in four times the usual 300.
    constexpr std::int64_t late_bytes = 32 << 10;
    const std::int64_t late_threads = std::thread::hardware_concurrency() + 8;
    const std::int64_t started = std::max<std::int64_t>(last.threads - first.threads, 0);
    EXPECT_LE(last.bytes, first.bytes + late_bytes * (1 + started));
    // The process keeps some of what was freed.
    constexpr std::int64_t kept_bytes = 1 << 20;
    EXPECT_LE(last.resident, first.resident + first.resident / 100 + kept_bytes * (1 + started));
    EXPECT_LE(last.files, first.files);
    EXPECT_LE(last.threads, first.threads + late_threads);
    tell_count(times, what);
  }

 private:
  LogSink before_;
};

/// With checkpoints, evaluations, summaries and a report, whose files stay as many, too.
TEST_F(Soak, OfSteps) {
  TemporaryFolder folder;
  RunConfig run;
  run.save_checkpoint = Steps(50);
  run.keep_checkpoints.newest = 2;
  Estimator estimator({.model_fn = resuming_model, .model_dir = folder / "model", .run = run});
  EvalSpec spec{.input_fn = shuffled_digits(), .every = Steps(100), .steps = 4};
  TrainOptions options;
  std::int64_t files = 1000;
  auto all = shuffled_digits();
  expect_flat(soak(2000), "steps of long trainings", [&](std::int64_t steps) {
    options.steps = steps;
    options.hooks = {hooks::summaries({.every = Steps(100)}), hooks::progress(), hooks::report()};
    train_and_evaluate(estimator, {.input_fn = all, .options = options}, {spec});
    options.hooks.clear();
    std::int64_t now = entries(folder / "model");
    EXPECT_LE(now, files + 1);  // events of one more training
    files = now;
  });
}

TEST_F(Soak, OfPipelines) {
  Dataset data = shuffled_digits_of(3) | data::take(20);
  expect_flat(soak(400), "pipelines opened and read", [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      auto stream = data.open();
      Features batch;
      for (int k = 0; k < 12; ++k) ASSERT_TRUE(stream->next(batch));
      std::string state = stream->save();
      auto again = data.open();
      again->restore(state);
      ASSERT_TRUE(again->next(batch));
    }
  });
}

TEST_F(Soak, OfPredictionsByEightThreads) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    if (mode != Mode::predict) return resuming_model(s, batch, mode);
    Tensor x = relu(dense(s / "in", batch["x"], {.units = 16}));
    return {.predictions = {{"logits", dense(s / "out", x, {.units = 4})}}};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder / "model"});
  estimator.train(shuffled_digits(), {.max_steps = 3});
  ExportSignature signature{.inputs = {{"x", {{6}, DType::f32}}}};
  Predictor predictor = Predictor::load(
      estimator.export_model(folder / "exports", {.signatures = {{"predict", signature}}}),
      {.parallel = 3, .plans = 2});
  expect_flat(soak(4000), "predictions by eight threads", [&](std::int64_t times) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (std::int64_t i = t; i < times; i += 8) {
          Array x = Array::zeros({1 + i % 3, 6});
          EXPECT_EQ(predictor({{"x", x}}).at("logits").shape()[0], 1 + i % 3);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace belfry
