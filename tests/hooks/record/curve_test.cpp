#include "belfry/hooks/record/curve.h"

#include <gmock/gmock.h>

#include <limits>

#include "../../framework/base/error_of.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

Curve curve_of(const std::vector<std::pair<std::int64_t, double>>& values) {
  Curve curve;
  for (auto [step, value] : values) curve.add(step, value);
  return curve;
}

// With room for four points they cover one step, then two, then four.
TEST(Curve, IsThinnedByHalvesThatKeepLowestHighestAndMean) {
  Curve curve(4);
  for (int step : {1, 2, 3, 4}) curve.add(step, step);
  ASSERT_EQ(curve.points().size(), 4u);
  EXPECT_EQ(curve.points()[3], (CurvePoint{4, 4, 1, 0, 4, 4, 4}));
  curve.add(5, 10);
  EXPECT_THAT(curve.points(),
              ElementsAre(CurvePoint{1, 1, 1, 0, 1, 1, 1}, CurvePoint{2, 3, 2, 0, 2.5, 2, 3},
                          CurvePoint{4, 5, 2, 0, 7, 4, 10}));
  curve.add(6, nan);
  curve.add(7, 1);
  curve.add(8, -infinite);
  EXPECT_THAT(curve.points(),
              ElementsAre(CurvePoint{1, 3, 3, 0, 2, 1, 3}, CurvePoint{4, 7, 3, 1, 5, 1, 10},
                          CurvePoint{8, 8, 0, 1, 0, 0, 0}));
  EXPECT_EQ(curve.latest_step(), 8);
  EXPECT_EQ(curve.latest(), -infinite);
}

TEST(Curve, StaysBoundedAndLosesNoPeak) {
  Curve curve;
  for (int step = 1; step <= 100'000; ++step) curve.add(step, step == 77'777 ? 9 : 1);
  EXPECT_EQ(curve.points().size(), 391u);  // of 256 steps: 100,000 / 256 = 390.6
  int peaks = 0;
  for (const CurvePoint& p : curve.points()) {
    EXPECT_EQ(p.low, 1);
    peaks += p.high == 9 ? 1 : 0;
  }
  EXPECT_EQ(peaks, 1);
}

TEST(Curve, StepsMayComeInAnyOrderAndTwice) {
  EXPECT_EQ(curve_of({{9, 1}, {3, 5}, {3, 7}}).points(),
            (std::vector<CurvePoint>{{3, 3, 2, 0, 6, 5, 7}, {9, 9, 1, 0, 1, 1, 1}}));
}

TEST(Curve, IsReadFromItsText) {
  Curve curve(4);
  for (int step : {1, 2, 3, 4, 5, 6}) curve.add(step, step == 6 ? nan : step);
  EXPECT_EQ(curve.text(), "2 6 0 1 0 1 0 1 2 1 2 0 2.5 2 3 4 1 2 0 4.5 4 5 6 0 0 1 ");
  Curve read(4);
  read.read(curve.text());
  EXPECT_EQ(read.points(), curve.points());
  EXPECT_EQ(read.latest_step(), 6);
  for (Curve* both : {&curve, &read}) both->add(8, 1), both->add(9, 2);
  EXPECT_EQ(read.points(), curve.points());
  Curve large;
  large.add(1, 1e300);
  read.read(large.text());
  EXPECT_EQ(read.points()[0].high, 3.4028235e+38);
}

TEST(Curve, TextsThatHoldNoneAreErrors) {
  Curve curve;
  for (const char* text : {"", "0 1 1 1 ", "1 1 1 inf ", "1 1 1 1", "1 1 1 1 5 0 1 0 2 5 0 1 0 2 ",
                           "1 1 1 1 -5 0 1 0 2 ", "1 1 1 1 9223372036854775807 1 1 0 2 ", "x",
                           // Larger than any training, so that sums overflow.
                           "1 0 0 4611686018427387904 4611686018427387904 0 1 ",
                           "4611686018427387904 0 0 ", "1 0 0 0 0 4611686018427387904 0 2 2 2 "})
    EXPECT_THAT(error_of([&] { curve.read(text); }), HasSubstr("its state is no curve")) << text;
}

}  // namespace
}  // namespace belfry::hooks
