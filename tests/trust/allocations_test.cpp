// The n-th allocation fails, and in a second run all behind it too: through parsers, augmentation,
// loading and prediction. Each run ends with an exception or does its work all the same, and
// afterwards everything works as if nothing had happened.
//
// BELFRY_ALLOCATIONS says how many n are tried in each scenario, spread evenly; 0: all. With
// BELFRY_ALL_SCENARIOS there are those, too, in which a failure can still end the process:
// pipelines with threads, building graphs, training, exports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "../framework/base/from_environment.h"
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
  std::int64_t wanted = from_environment("BELFRY_ALLOCATIONS", 0);
  std::int64_t step = wanted == 0 ? 1 : std::max<std::int64_t>(1, all / wanted);
  for (std::int64_t n = 1; n <= all; n += step) {
    fail_at(n, Failing::once);
    if (scenario_->bears_lasting_failure()) fail_at(n, Failing::from_then);
  }
  EXPECT_GT(errors_, 0);
  std::cout << GetParam() << ": " << all << " allocations, " << runs_ << " runs, " << errors_
            << " of them with an error\n";
}

INSTANTIATE_TEST_SUITE_P(Of, Allocations, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belfry
