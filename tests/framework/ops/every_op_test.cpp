// Finds ops that no test checks. The list of all ops comes from the build, in BELFRY_OPS.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "belfry/framework/runtime/check_op.h"

namespace belfry {
namespace {

class EveryOpIsChecked final : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* ops = std::getenv("BELFRY_OPS");
    if (!ops) return;  // only some of the tests were run
    std::istringstream names(ops);
    int count = 0;
    for (std::string name; names >> name; ++count)
      EXPECT_TRUE(checked_ops().contains(name))
          << name << " is in no check_op() of tests/framework/ops";
    EXPECT_GT(count, 60);
  }
};

const auto* const environment = ::testing::AddGlobalTestEnvironment(new EveryOpIsChecked);

}  // namespace
}  // namespace belfry
