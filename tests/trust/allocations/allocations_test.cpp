// The n-th allocation fails, and in a second run all behind it too: through parsers, augmentation,
// pipelines, plans, trainings with hooks and towers, evaluation, prediction and exports. Each run
// ends with an exception or does its work all the same, frees what it has allocated, and afterwards
// everything works as if nothing had happened.
//
// All n are tried where there are up to 700, and else the first from each place in the code with
// the calls that lead there; of these, as many as BELFRY_ALLOCATIONS says or up to twice that,
// spread evenly from BELFRY_ALLOCATIONS_SEED on; 0: all.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../../framework/base/from_environment.h"
#include "../tell_count.h"
#include "belfry/framework/base/out_of_memory.h"
#include "failing_allocations.h"
#include "scenarios.h"

namespace belfry {
namespace {

std::string under_way;  // for who reads what a crash leaves

// oneTBB ends the process where it finds no memory for a thread that it begins. It keeps those it
// has, so more than any scenario needs are begun while nothing fails.
void begin_threads_of_tbb() {
  constexpr int threads = 12;
  tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, threads + 1);
  tbb::task_arena arena(threads, /*reserved_for_masters=*/0);
  std::latch all(threads + 1);
  for (int i = 0; i < threads; ++i) arena.enqueue([&] { all.arrive_and_wait(); });
  all.arrive_and_wait();
}

class Allocations : public ::testing::TestWithParam<std::string> {
 protected:
  // Before a pipeline sets oneTBB a lower limit.
  static void SetUpTestSuite() { begin_threads_of_tbb(); }

  Allocations() : scenario_(make_scenario(GetParam())) {
    std::set_terminate([] {
      std::cerr << "the process ended in " << under_way << std::endl;
      std::abort();
    });
  }

  /// The numbers to try, once all is made that is made once in a process: each, or the first from
  /// each place where there are many.
  std::vector<std::int64_t> find() {
    scenario_->prepare();
    scenario_->run();
    scenario_->prepare();
    {
      FailingAllocations none(0);
      scenario_->run();
      all_ = none.count();
    }
    EXPECT_LE(all_, most_places);
    if (all_ > few) return first_of_each_place();
    std::vector<std::int64_t> each(static_cast<std::size_t>(all_));
    std::iota(each.begin(), each.end(), 1);
    return each;
  }

  void fail_at(std::int64_t n, Failing how) {
    bool all_behind = how == Failing::from_then;
    under_way = concat(GetParam(), ", allocation ", n, all_behind ? " and all behind it" : "");
    bool threw = false, failed = false;
    std::exception_ptr other;  // says nothing of memory
    scenario_->prepare();
    {
      FailingAllocations failing(n, how);
      try {
        scenario_->run();
      } catch (const std::exception& error) {
        threw = true;
        other = is_shortage() ? nullptr : std::current_exception();
      }
      failed = failing.failed() > 0;
      others_lost_ = others_lost_ || failing.others_lose();
    }
    ++runs_;
    errors_ += threw;
    EXPECT_TRUE(failed || !threw) << under_way << ": an error for no reason";
    EXPECT_FALSE(other) << under_way << ": " << what_of(other);
    if (threw) scenario_->recover(under_way);
    scenario_->check(under_way);
  }

  /// Tries `n` until nothing more is left. What leaks is left each time, what fills a pool only
  /// once; what other libraries lose is theirs.
  void fail_without_leak(std::int64_t n, Failing how) {
    std::int64_t leaked = 1;
    others_lost_ = false;
    for (int time = 0; time < 4 && leaked > 0 && !others_lost_; ++time) {
      std::int64_t before = live_allocations();
      fail_at(n, how);
      leaked = live_allocations() - before;
    }
    EXPECT_TRUE(leaked <= 0 || others_lost_) << under_way << ": " << leaked << " are never freed";
  }

  static constexpr std::int64_t few = 700;
  std::unique_ptr<Scenario> scenario_;
  std::int64_t all_ = 0, runs_ = 0, errors_ = 0;
  bool others_lost_ = false;
};

TEST_P(Allocations, MayFail) {
  const std::vector<std::int64_t> found = find();
  scenario_->check("without a failure");
  std::int64_t count = std::ssize(found), wanted = from_environment("BELFRY_ALLOCATIONS", 150);
  std::int64_t step = wanted == 0 || all_ <= few ? 1 : std::max<std::int64_t>(1, count / wanted);
  std::int64_t seed = from_environment("BELFRY_ALLOCATIONS_SEED", 0);
  for (std::int64_t i = seed % step; i < count; i += step) {
    fail_without_leak(found[i], Failing::once);
    fail_without_leak(found[i], Failing::from_then);
  }
  EXPECT_GT(errors_, 0);
  std::cout << GetParam() << ": " << all_ << " allocations, " << count << " to try, " << runs_
            << " runs, " << errors_ << " of them with an error\n";
  tell_count(runs_, "allocations that failed");
}

INSTANTIATE_TEST_SUITE_P(Of, Allocations, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belfry
