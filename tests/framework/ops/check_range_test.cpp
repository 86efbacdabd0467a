#include "belfry/framework/ops/check_range.h"

#include "support.h"

namespace belfry::testing {
namespace {

using ::testing::StartsWith;

const CheckRangeOptions about{.what = "the feature `y`", .remedy = "labels are counts"};

TEST(CheckRange, PassesOnWhatIsInRange) {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{0, 3}, Shape{2, 3, 5}})
    EXPECT_EQ(check_op({.build = [](const Scope&, auto x) -> std::vector<Tensor> {
                          Tensor lowest = cast(x[0] - 1, DType::f64);
                          return {check_range(x[0], -9, inf, about),
                                  check_range(x[0], lowest, lowest + 2, about)};
                        },
                        .inputs = {noise(shape)}}),
              "")
        << concat(shape);
  Graph graph;
  Tensor x = tensor<std::uint8_t>(graph, {3}, {0, 2, 255});
  EXPECT_THAT(values(check_range(x, 0, 255, about)), ElementsAre(0, 2, 255));
  Tensor b = tensor<bool>(graph, {2}, {true, false});
  EXPECT_THAT(values(check_range(b, 0, 1, about)), ElementsAre(1, 0));
}

TEST(CheckRange, ErrorsNameRowValueAndLimit) {
  Graph graph;
  auto error = [](Tensor x, auto lowest, auto highest) {
    return error_of([&] { values(check_range(x, lowest, highest, about)); });
  };
  Tensor table = tensor<double>(graph, {3, 2}, {0, 1, 1, 0, 0.5, 1.5});
  EXPECT_THAT(error(table, 0, 1),
              StartsWith("the feature `y` at row 2, element 1 is 1.5, above 1; labels are counts"));
  EXPECT_THAT(error(table, 0.25, inf), StartsWith("the feature `y` at row 0, element 0 is 0, "
                                                  "below 0.25; labels are counts"));
  EXPECT_THAT(error(tensor<float>(graph, {2}, {1, NAN}), -inf, inf),
              StartsWith("the feature `y` at row 1 is nan; labels"));
  EXPECT_THAT(error(tensor<std::int64_t>(graph, {}, {-1}), 0, 1),
              StartsWith("the feature `y` at row 0 is -1, below 0; "));
  Tensor lengths = tensor<std::int32_t>(graph, {3}, {4, 5, 6});
  Tensor lowest = tensor<double>(graph, {3}, {4, 4, 7}), highest = constant(graph, 9, DType::f64);
  EXPECT_THAT(error(lengths, lowest, highest),
              StartsWith("the feature `y` at row 2 is 6, below 7"));
  EXPECT_THAT(error(lengths, lowest - 3, lowest),
              StartsWith("the feature `y` at row 1 is 5, above 4"));
}

TEST(CheckRange, LimitsAreNumbersOrOneForEachElement) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3}, {1, 2, 3}), two = tensor<double>(graph, {2}, {1, 2});
  EXPECT_EQ(error_of([&] { check_range(x, two, x, about); }),
            "check_range: limits must be f64 and one number or [3], got f64[2]");
  EXPECT_EQ(error_of([&] { check_range(x, x, cast(x, DType::f32), about); }),
            "check_range: limits must be f64 and one number or [3], got f32[3]");
}

}  // namespace
}  // namespace belfry::testing
