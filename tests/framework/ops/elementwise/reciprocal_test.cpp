#include "../support.h"

namespace belfry::testing {
namespace {

using ::testing::ElementsAre;

TEST(Reciprocal, AgreesWithItsReferenceAndDifferences) {
  for (const Shape& shape : shapes)
    EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                          return {reciprocal(x[0])};
                        },
                        .inputs = {noise_between(0.5, 3, shape)}}),
              "")
        << to_string(shape);
}

TEST(Reciprocal, IsOneOverItsOperand) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  Graph graph;
  Tensor x = constant(graph, Array::of({4.0f, -0.5f, 0.0f, inf}));
  Array y = evaluate({reciprocal(x)}, {})[0];
  auto values = y.span<float>();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(0.25f, -2, inf, 0));
}

}  // namespace
}  // namespace belfry::testing
