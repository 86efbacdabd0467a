#include "belfry/hooks/name_patterns.h"

#include "gradient_support.h"

namespace belfry::hooks {
namespace {

TEST(NamePatterns, FindsTheFirstThatMatchesTheWholeName) {
  NamePatterns patterns("hook", {"encoder/.*", ".*/bias", "kernel"});
  EXPECT_EQ(patterns.find("encoder/bias"), 0u);
  EXPECT_EQ(patterns.find("head/bias"), 1u);
  EXPECT_EQ(patterns.find("head/kernel"), std::nullopt);
  EXPECT_EQ(patterns.find("kernel"), 2u);
  EXPECT_FALSE(patterns.empty());
  EXPECT_TRUE(NamePatterns("hook", {}).empty());
}

TEST(NamePatterns, EachMustMatchSomething) {
  NamePatterns patterns("hook", {"encoder/.*", ".*/bias"});
  patterns.find("head/kernel");
  EXPECT_EQ(error_of([&] { patterns.require_all_used(); }),
            "hook: `encoder/.*` matches no variable that is trained; they are head/kernel");
  patterns.find("encoder/kernel");
  EXPECT_EQ(error_of([&] { patterns.require_all_used(); }),
            "hook: `.*/bias` matches no variable that is trained; they are encoder/kernel, "
            "head/kernel");
  patterns.find("encoder/bias");  // the second matches it too, though the first is found
  EXPECT_EQ(error_of([&] { patterns.require_all_used(); }), "no error");
}

TEST(NamePatterns, MustBeRegularExpressions) {
  EXPECT_THAT(error_of([] {
                NamePatterns("hook", {"a", "("});
              }),
              testing::StartsWith("hook: `(` is no regular expression: "));
}

}  // namespace
}  // namespace belfry::hooks
