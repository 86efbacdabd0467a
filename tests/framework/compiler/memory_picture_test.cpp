// The picture of a plan that is made by hand.

#include "belfry/framework/compiler/plan.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

class MemoryPicture : public ::testing::Test {
 protected:
  // A plan of `count` instructions, all of one op.
  Plan plan_of(std::size_t count) {
    Plan plan;
    plan.instructions.resize(count);
    for (Instruction& i : plan.instructions) i.node = &op;
    return plan;
  }
  static PlannedBlock block(const std::string& name, MemoryUse use, std::int64_t kib, int first,
                            int last) {
    return {.name = name, .use = use, .bytes = kib << 10, .first = first, .last = last};
  }

  Graph graph;
  Node& op = exp(f32(graph, "x", {4})).node();
};

TEST_F(MemoryPicture, StacksWhatLives) {
  Plan plan = plan_of(4);
  plan.blocks = {block("a", MemoryUse::activation, 6, 0, 3),
                 block("b", MemoryUse::gradient, 3, 1, 2),
                 block("c", MemoryUse::workspace, 3, 2, 2)};
  EXPECT_EQ(memory_picture(plan),
            "memory over the step, an instruction a column: a activation, g gradient, w workspace\n"
            "  12.0 KiB |  w\n"
            "           |  w\n"
            "           |  w\n"
            "           | gg\n"
            "           | gg\n"
            "           | gg\n"
            "           |aaaa\n"
            "           |aaaa\n"
            "           |aaaa\n"
            "           |aaaa\n"
            "           |aaaa\n"
            "           |aaaa\n"
            "              ^ the peak, at instruction 2: exp\n"
            "  6.0 KiB     a, activation\n"
            "  3.0 KiB     b, gradient\n"
            "  3.0 KiB     c, workspace\n");
}

// 145 instructions are 49 columns of three, each as high as the highest of its three.
TEST_F(MemoryPicture, JoinsInstructionsToColumns) {
  Plan plan = plan_of(145);
  for (int i = 0; i < 8; ++i)
    plan.blocks.push_back(block("t" + text(i), MemoryUse::update, 1 + i, 100, 100));
  std::string picture = memory_picture(plan);
  EXPECT_THAT(picture, ::testing::HasSubstr("3 instructions a column: u update\n"));
  EXPECT_THAT(picture, ::testing::HasSubstr("  36.0 KiB |" + std::string(33, ' ') + "u\n"));
  EXPECT_THAT(picture,
              ::testing::HasSubstr(
                  "\n" + std::string(12 + 33, ' ')
                  + "^ the peak, at instruction 100: exp\n"
                    "  8.0 KiB     t7, update\n  7.0 KiB     t6, update\n  6.0 KiB     t5, update\n"
                    "  5.0 KiB     t4, update\n  4.0 KiB     t3, update\n"));
  EXPECT_THAT(picture, ::testing::Not(::testing::HasSubstr("t2")));
}

TEST_F(MemoryPicture, OfNothingIsEmpty) {
  EXPECT_EQ(memory_picture(Plan()), "");
  EXPECT_EQ(memory_picture(plan_of(3)), "");
}

}  // namespace
}  // namespace belfry
