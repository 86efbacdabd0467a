#include "belfry/framework/train/state/variable_misfits.h"

#include <gmock/gmock.h>

namespace belfry {
namespace {

using ::testing::HasSubstr;

const TensorType number{{}, DType::f32};

VariableOptions named(std::string name) { return {.name = std::move(name), .type = number}; }

// The values that an optimizer or an average keeps beside a variable go where that variable goes.
TEST(VariableMisfits, LeaveOutWhatIsKeptBesideAVariable) {
  KnownVariables known;
  for (const char* name : {"fc1/w", "fc1/w/adam/m", "fc1/w/moving_average_count", "fc1/b", "seen"})
    known.emplace(name, number);
  std::vector<VariableOptions> wanted{named("fc_1/w"), named("fc1/b")};
  EXPECT_EQ(describe_misfits(wanted, known),
            "\n  missing: `fc_1/w` f32[], the nearest: fc1/w"
            "\n  left over: `fc1/w` f32[]"
            "\n  left over: `seen` f32[]");
  known.erase("fc1/w");  // of what is not there they are left over
  EXPECT_THAT(describe_misfits(wanted, known), HasSubstr("left over: `fc1/w/adam/m`"));
}

TEST(VariableMisfits, VariablesAreAlikeInAllThatTheirValuesMean) {
  VariableOptions w = named("w"), statistic = w, summed = w, wide = w;
  statistic.kind = VariableKind::statistic;
  summed.over_towers = OverTowers::sum;
  wide.type = {{3}, DType::f32};
  EXPECT_TRUE(is_alike(w, named("w")));
  for (const VariableOptions& other : {named("v"), statistic, summed, wide})
    EXPECT_FALSE(is_alike(w, other)) << describe_variable(other);
  EXPECT_EQ(describe_variable(summed), "`w` (f32[], parameter, sum)");
}

}  // namespace
}  // namespace belfry
