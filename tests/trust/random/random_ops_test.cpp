// No op is left out by the models that are put together at random: a new one fails here until a
// Draw of random_builder.h uses it.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "random_subject.h"

namespace belfry::random_models {
namespace {

// Ops that no model has before it is compiled and trained. Trainings have them.
bool comes_later(std::string_view op) {
  return op == "all_reduce" || op == "batch_norm_recompute" || op == "fused_elementwise"
         || op == "relu_grad_sum";
}

// The list comes from the build, which reads the sources.
TEST(RandomModels, HaveEveryOp) {
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Subject subject(seed, DType::f64);
    for (const auto& node : subject.graph()) ++drawn[std::string(node->op().name)];
  }
  std::istringstream names(BELFRY_OPS);
  int count = 0;
  for (std::string name; names >> name; ++count)
    EXPECT_EQ(drawn[name] > 0, !comes_later(name)) << name << ": " << drawn[name];
  EXPECT_GT(count, 60);
}

}  // namespace
}  // namespace belfry::random_models
