// The n-th allocation fails, and in a second run all behind it too: through parsers, augmentation,
// pipelines, plans, trainings with hooks and towers, evaluation, prediction and exports. Each run
// ends with an exception or does its work all the same, and afterwards everything works as if
// nothing had happened.
//
// All n are tried where there are few, and else as many as BELFRY_ALLOCATIONS says, spread evenly;
// 0: all.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "../../framework/base/from_environment.h"
#include "../tell_count.h"
#include "belfry/framework/base/error.h"
#include "failing_allocations.h"
#include "scenarios.h"

namespace belfry {
namespace {

std::string under_way;  // for who reads what a crash leaves

class Allocations : public ::testing::TestWithParam<std::string> {
 protected:
  Allocations() : scenario_(make_scenario(GetParam())) {
    std::set_terminate([] {
      std::cerr << "the process ended in " << under_way << std::endl;
      std::abort();
    });
  }

  /// How many there are when all is made that is made once in a process.
  std::int64_t count() {
    scenario_->prepare();
    scenario_->run();
    scenario_->prepare();
    FailingAllocations none(0);
    scenario_->run();
    return none.count();
  }

  void fail_at(std::int64_t n, Failing how) {
    bool all_behind = how == Failing::from_then;
    under_way = concat(GetParam(), ", allocation ", n, all_behind ? " and all behind it" : "");
    bool threw = false, failed = false;
    scenario_->prepare();
    {
      FailingAllocations failing(n, how);
      try {
        scenario_->run();
      } catch (const std::exception&) {
        threw = true;
      }
      failed = failing.failed() > 0;
    }
    ++runs_;
    errors_ += threw;
    EXPECT_TRUE(failed || !threw) << under_way << ": an error for no reason";
    if (threw) scenario_->recover();
    scenario_->check(under_way);
  }

  std::unique_ptr<Scenario> scenario_;
  std::int64_t runs_ = 0, errors_ = 0;
};

TEST_P(Allocations, MayFail) {
  std::int64_t all = count();
  scenario_->check("without a failure");
  constexpr std::int64_t few = 700;
  std::int64_t wanted = from_environment("BELFRY_ALLOCATIONS", 150);
  std::int64_t step = wanted == 0 || all <= few ? 1 : std::max<std::int64_t>(1, all / wanted);
  for (std::int64_t n = 1; n <= all; n += step) {
    fail_at(n, Failing::once);
    fail_at(n, Failing::from_then);
  }
  EXPECT_GT(errors_, 0);
  std::cout << GetParam() << ": " << all << " allocations, " << runs_ << " runs, " << errors_
            << " of them with an error\n";
  tell_count(runs_, "allocations that failed");
}

INSTANTIATE_TEST_SUITE_P(Of, Allocations, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belfry
