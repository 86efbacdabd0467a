#include "belfry/hooks/tensorboard/summary_values.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "../../framework/base/bytes.h"
#include "../../framework/base/error_of.h"
#include "belfry/framework/base/protobuf_wire.h"

namespace belfry::hooks {
namespace {

using protobuf::WireReader;
using protobuf::WireWriter;
using testing::ElementsAre;
using testing::HasSubstr;

ByteVector encoded(const EventValue& value) {
  WireWriter out;
  value(out);
  return out.release();
}

TEST(SummaryValues, AScalarIsATagAndAFloat) {
  EXPECT_EQ(encoded(scalar_summary("a", 1)), hex("0a 01 61 15 00 00 80 3f"));
  EXPECT_EQ(encoded(scalar_summary("a", -std::numeric_limits<double>::infinity())),
            hex("0a 01 61 15 00 00 80 ff"));
  EXPECT_EQ(error_of([] { scalar_summary("", 1); }), "summary: the tag is empty");
}

TEST(SummaryValues, TextIsATensorOfOneString) {
  EXPECT_EQ(encoded(text_summary("a", "hi")),
            hex("0a 01 61"
                "42 0c 08 07 12 04 12 02 08 01 42 02 68 69"  // DT_STRING, [1], "hi"
                "4a 08 0a 06 0a 04 74 65 78 74"));           // plugin "text"
}

TEST(SummaryValues, SeveralTextsAreATensorOfAsMany) {
  EXPECT_EQ(encoded(text_summary("a", std::vector<std::string>{"h", "i"})),
            hex("0a 01 61"
                "42 0e 08 07 12 04 12 02 08 02 42 01 68 42 01 69"
                "4a 08 0a 06 0a 04 74 65 78 74"));
}

// The PNG itself is encode_png()'s.
TEST(SummaryValues, AnImageHasItsSizeAndColours) {
  ByteVector value = encoded(image_summary("a", Array::zeros({2, 5, 3}, DType::u8)));
  std::size_t png = value.size() - 13;
  ASSERT_LT(png, 128u);
  EXPECT_EQ(ByteVector(value.begin(), value.begin() + 19),
            hex("0a 01 61 22") + ByteVector{std::byte(png + 8)} + hex("08 02 10 05 18 03 22")
                + ByteVector{std::byte(png)} + hex("89 50 4e 47 0d 0a"));
  EXPECT_EQ(error_of([] {
              image_summary("a", Array::zeros({2, 2}));
            }),
            "image_summary: expected u8 [h, w] or [h, w, 1 | 3 | 4], got f32[2, 2] for `a`");
  EXPECT_THAT(error_of([] {
                image_summary("a", Array::zeros({2, 2, 2}, DType::u8));
              }),
              HasSubstr("got u8[2, 2, 2]"));
}

struct Decoded {
  std::vector<double> numbers, limits, counts;  // numbers: min, max, num, sum, sum_squares
};

std::vector<double> doubles(std::span<const std::byte> bytes) {
  std::vector<double> out(bytes.size() / sizeof(double));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Decoded histogram_of(const Array& values) {
  ByteVector bytes = encoded(histogram_summary("h", values));
  WireReader value(bytes);
  value.next();
  EXPECT_EQ(value.text(), "h");
  value.next();
  EXPECT_EQ(value.field(), 5u);
  Decoded out;
  for (WireReader histogram = value.message(); histogram.next();) {
    if (histogram.field() <= 5) out.numbers.push_back(std::bit_cast<double>(histogram.fixed64()));
    if (histogram.field() == 6) out.limits = doubles(histogram.bytes());
    if (histogram.field() == 7) out.counts = doubles(histogram.bytes());
  }
  return out;
}

// The k-th positive limit is 1e-12 * 1.1^k: 1 lies below 1e-12 * 1.1^290 = 1.0046 and 3 below that
// times 1.1^12 = 3.153. -1 lies below -1e-12 * 1.1^289 = -0.9133 and 0 below 1e-12.
TEST(SummaryValues, AHistogramCountsInTensorFlowsBuckets) {
  Decoded h = histogram_of(Array::of({1.f, 0.f, 3.f, -1.f, 1.f}));
  EXPECT_THAT(h.numbers, ElementsAre(-1, 3, 5, 4, 12));
  EXPECT_THAT(h.counts, ElementsAre(1, 0, 1, 0, 2, 0, 1));
  auto limit = [](int k) { return testing::DoubleNear(1e-12 * std::pow(1.1, k), 1e-9); };
  EXPECT_THAT(h.limits, ElementsAre(testing::DoubleNear(-1e-12 * std::pow(1.1, 289), 1e-9), 0,
                                    1e-12, limit(289), limit(290), limit(301), limit(302)));
}

TEST(SummaryValues, AHistogramTakesAnyNumbersButNotNaN) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Decoded h = histogram_of(Array::of({std::nan(""), infinity, -infinity, 1e300, -1e300}));
  EXPECT_THAT(h.counts, ElementsAre(1, 0, 1));
  EXPECT_THAT(h.numbers, ElementsAre(-1e300, 1e300, 2, 0, infinity));
  Decoded empty = histogram_of(Array::zeros({0}, DType::i64));
  EXPECT_THAT(empty.numbers, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(empty.counts, ElementsAre(0));
}

// Thresholds 0, 1/2, 1: of the positives 0.5 and 1 and the negatives 0.25 and 0.75.
TEST(SummaryValues, APrCurveCountsAtEachThreshold) {
  PrCurve curve = count_pr_curve(Array::of({1, 1, 0, 0}), Array::of({0.5f, 1.f, 0.25f, 0.75f}), 3);
  EXPECT_THAT(curve.true_positives, ElementsAre(2, 2, 1));
  EXPECT_THAT(curve.false_positives, ElementsAre(2, 1, 0));
  EXPECT_THAT(curve.true_negatives, ElementsAre(0, 1, 2));
  EXPECT_THAT(curve.false_negatives, ElementsAre(0, 0, 1));
}

TEST(SummaryValues, APrCurveIsATensorOfSixRows) {
  PrCurve curve{{2, 1}, {2, 0}, {0, 2}, {0, 1}};
  EXPECT_EQ(encoded(pr_curve_summary("a", curve)),
            hex("0a 01 61 42 3e 08 01 12 08 12 02 08 06 12 02 08 02 22 30"
                "00 00 00 40 00 00 80 3f  00 00 00 40 00 00 00 00"  // tp, fp
                "00 00 00 00 00 00 00 40  00 00 00 00 00 00 80 3f"  // tn, fn
                "00 00 00 3f 00 00 80 3f  00 00 80 3f 00 00 00 3f"  // precision, recall
                "4a 11 0a 0f 0a 09 70 72 5f 63 75 72 76 65 73 12 02 10 02"));
}

TEST(SummaryValues, APrCurveNeedsProbabilitiesAndTwoClasses) {
  Array labels = Array::of({0, 1}), scores = Array::of({0.5f, 1.f});
  auto error = [](const Array& l, const Array& s, int thresholds = 3) {
    return error_of([&] { count_pr_curve(l, s, thresholds); });
  };
  EXPECT_EQ(error(labels, scores, 1), "pr_curve: expected at least 2 thresholds, got 1");
  EXPECT_EQ(error(labels, Array::of({0.5f})), "pr_curve: 2 labels for 1 scores");
  EXPECT_EQ(error(labels, Array::of({0.5f, 1.5f})), "pr_curve: score 1 is 1.5, not within 0 to 1");
  EXPECT_EQ(error(labels, Array::of({NAN, 1.f})), "pr_curve: score 0 is nan, not within 0 to 1");
  EXPECT_EQ(error(Array::of({0, 2}), scores), "pr_curve: label 1 is 2, expected 0 or 1");
  EXPECT_EQ(error_of([] {
              pr_curve_summary("a", {{1, 2}, {1}, {1, 2}, {1, 2}});
            }),
            "pr_curve: expected as many counts of each kind, at least 2, got 2 and 1");
}

TEST(SummaryValues, HyperParametersAreNumbersTextsAndBools) {
  EXPECT_EQ(
      encoded(hyper_parameters_summary({{"b", true}, {"n", 2}, {"t", "x"}}, 1)),
      hex("0a 1c 5f 68 70 61 72 61 6d 73 5f 2f 73 65 73 73 69 6f 6e 5f 73 74 61 72 74 5f 69 6e"
          "66 6f"                          // "_hparams_/session_start_info"
          "42 08 08 01 12 04 12 02 08 00"  // DT_FLOAT, [0]
          "4a 3b 0a 39 0a 07 68 70 61 72 61 6d 73 12 2e 1a 2c"
          "0a 07 0a 01 62 12 02 20 01"                       // b
          "0a 0e 0a 01 6e 12 09 11 00 00 00 00 00 00 00 40"  // n
          "0a 08 0a 01 74 12 03 1a 01 78"                    // t
          "29 00 00 00 00 00 00 f0 3f"));
}

}  // namespace
}  // namespace belfry::hooks
