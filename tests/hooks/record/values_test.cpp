#include "belfry/hooks/record/values.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

TEST(Values, ImagesBecomeBytes) {
  Array floating = Array::of({0.f, 1.f, 0.5f, 2.f, -1.f, NAN, 0.25f, 0.75f}, {2, 2, 2, 1});
  auto images = images_of({"i", SummaryKind::image, floating});
  ASSERT_THAT(images, SizeIs(2));
  EXPECT_TRUE(identical(images[0], Array::of<std::uint8_t>({0, 255, 128, 255}, {2, 2, 1})));
  EXPECT_TRUE(identical(images[1], Array::of<std::uint8_t>({0, 0, 64, 191}, {2, 2, 1})));
  Array bytes = Array::of<std::uint8_t>({7, 8, 9}, {1, 1, 1, 3});
  EXPECT_TRUE(identical(images_of({"i", SummaryKind::image, bytes}).at(0), bytes.row(0)));
}

TEST(Values, TextsEndAtTheirFirstZero) {
  Array bytes = Array::of<std::uint8_t>({'a', 0, 'b', 'c', 'd', 'e'}, {2, 3});
  EXPECT_THAT(texts_of({"t", SummaryKind::text, bytes}), ElementsAre("a", "cde"));
  EXPECT_THAT(texts_of({"t", SummaryKind::text, bytes.row(1)}), ElementsAre("cde"));
}

TEST(Values, ScalarsOfAnEvaluation) {
  EvalResult found;
  found.set("loss", Array::scalar(1.25));
  found.set("accuracy", Array::scalar(0.5f));
  found.set("global_step", Array::scalar(7.0));
  found.set("matrix", Array::zeros({2, 2}));
  EXPECT_THAT(scalars_of(found), ElementsAre(Pair("accuracy", 0.5), Pair("loss", 1.25)));
  EXPECT_EQ(evaluation_text(7, "", found), "step 7: evaluated accuracy = 0.5, loss = 1.25");
  EXPECT_EQ(evaluation_text(7, "t", found), "step 7: evaluated t: accuracy = 0.5, loss = 1.25");
}

TEST(Values, AStepIsFiniteIfAllOfItIs) {
  FakeContext context;
  std::vector<std::pair<std::string, double>> values{{"a", 1}, {"b", 2}};
  StepResult result{.context = context, .loss = 1, .values = values};
  EXPECT_TRUE(is_finite(result));
  values[1].second = NAN;
  EXPECT_FALSE(is_finite(result));
  values[1].second = 2;
  result.loss = INFINITY;
  EXPECT_FALSE(is_finite(result));
}

}  // namespace
}  // namespace belfry::hooks
