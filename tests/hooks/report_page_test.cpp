// Covers html.cpp, report_curve.cpp, report_chart.cpp and report_values.cpp too.
#include "belfry/hooks/report_page.h"

#include <gmock/gmock.h>

#include <limits>

#include "../framework/base/error_of.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/hooks/html.h"
#include "belfry/hooks/printed.h"
#include "belfry/hooks/report_chart.h"
#include "belfry/hooks/report_values.h"
#include "well_formed.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

Curve curve_of(const std::vector<std::pair<std::int64_t, double>>& values) {
  Curve curve;
  for (auto [step, value] : values) curve.add(step, value);
  return curve;
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) ++out;
  return out;
}

TEST(Html, EscapesMarkupAndWhatIsNoText) {
  EXPECT_EQ(escape_html("<a href=\"x\">it's & é€😀\n</a>"),
            "&lt;a href=&quot;x&quot;&gt;it&#39;s &amp; é€😀\n&lt;/a&gt;");
  // A control character, a byte of no character, one cut off, / in too many bytes, a surrogate.
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_html("\x01-\xFF-\xE2\x82"), r + "-" + r + "-" + r + r);
  EXPECT_EQ(escape_html("\xC0\xAF-\xED\xA0\x80"), r + r + "-" + r + r + r);
}

// RFC 4648, section 10.
TEST(Html, Base64) {
  auto encoded = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
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
                           "1 1 1 1 -5 0 1 0 2 ", "1 1 1 1 9223372036854775807 1 1 0 2 ", "x"})
    EXPECT_THAT(error_of([&] { curve.read(text); }), HasSubstr("its state is no curve")) << text;
}

// Steps 0 to 10 and values 0 to 4 are 0 to 1000 units; 0 is at the bottom.
TEST(Chart, DrawsALineAndMarksWhatIsNotFinite) {
  Curve curve = curve_of({{0, 0}, {5, 4}, {7, nan}, {10, 2}});
  std::string html = chart_html({.title = "loss", .unit = " ms", .lines = {{"training", &curve}}});
  EXPECT_THAT(html, HasSubstr(" data-name=\"training\" d=\"M0 1000L500 0M1000 500\"/>"));
  EXPECT_THAT(html, HasSubstr("<path class=\"lost\" d=\"M700 0V70\"/>"));
  EXPECT_THAT(html, HasSubstr("training: 1 value is NaN or infinite, at step 7</p>"));
  EXPECT_THAT(html, HasSubstr("<span style=\"bottom:25%\">1</span>"));
  EXPECT_THAT(html, HasSubstr("<span style=\"left:40%\">4</span>"));
  EXPECT_THAT(html, HasSubstr("<span class=\"now\">2 ms at step 10</span>"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"loss over steps; training: 0 to 4 ms\""));
  EXPECT_THAT(html, HasSubstr("<tr><td>7</td><td>not finite</td>"));
  EXPECT_THAT(html, Not(HasSubstr("class=\"legend\"")));
}

TEST(Chart, TellsTheStepOfEachLineWhereTheyDiffer) {
  Curve one = curve_of({{1, 2}}), other = curve_of({{3, 4}});
  EXPECT_THAT(chart_html({.title = "x", .lines = {{"a", &one}, {"b", &other}}}),
              HasSubstr(">a 2 at step 1, b 4 at step 3</span>"));
}

TEST(Chart, WhatFallsByMuchIsLogarithmic) {
  Curve curve = curve_of({{1, 100}, {2, 10}, {3, 1}});
  EXPECT_THAT(chart_html({.title = "x", .lines = {{"x", &curve}}}),
              HasSubstr("d=\"M0 0L500 500L1000 1000\""));
  EXPECT_THAT(chart_html({.title = "x", .lines = {{"x", &curve}}, .from_zero = true}),
              HasSubstr("d=\"M0 0L500 900L1000 990\""));
}

TEST(Chart, DrawsRangesAndBands) {
  Curve curve(2);
  for (int step : {0, 1, 2, 3}) curve.add(step, step);  // means 0.5 and 2.5 of two steps each
  Curve low = curve_of({{0, 0}, {3, 1}}), high = curve_of({{0, 2}, {3, 3}});
  std::string html = chart_html(
      {.title = "x", .lines = {{"median", &curve}}, .bands = {{"5% to 95%", &low, &high}}});
  // x of the points: 0.5 and 2.5 of 3 steps; y: 1 unit of value is 1000 / 3.
  EXPECT_THAT(html, HasSubstr("<path class=\"range c0\" d=\"M166.67 666.67L833.33 0L833.33 333.33"
                              "L166.67 1000Z\"/>"));
  EXPECT_THAT(html, HasSubstr("<path class=\"range c0\" d=\"M0 333.33L1000 0L1000 666.67"
                              "L0 1000Z\"/>"));
  EXPECT_THAT(html, HasSubstr("5% to 95%</span>"));
}

// Up and down a hundred times: the means of two points on each side are 0.4 and 0.6.
TEST(Chart, NoiseGetsASmoothLine) {
  Curve noise, slope;
  for (int step = 0; step < 100; ++step) noise.add(step, step % 2), slope.add(step, step);
  std::string html = chart_html({.title = "x", .lines = {{"x", &noise}}});
  EXPECT_EQ(count(html, "noisy line"), 1u);
  EXPECT_THAT(html, HasSubstr("L505.05 600L515.15 400L"));
  EXPECT_THAT(chart_html({.title = "x", .lines = {{"x", &slope}}}), Not(HasSubstr("noisy line")));
}

TEST(Chart, CurvesWithoutARangeOrAValueAreDrawn) {
  Curve flat = curve_of({{3, 5}}), zero = curve_of({{3, 0}, {4, 0}}), none = curve_of({{3, nan}});
  for (const Curve* curve : {&flat, &zero, &none})
    for (bool from_zero : {false, true}) {
      std::string html =
          chart_html({.title = "x", .lines = {{"x", curve}}, .from_zero = from_zero});
      EXPECT_THAT(html, Not(testing::AnyOf(HasSubstr("nan"), HasSubstr("inf,"))));
      EXPECT_LT(html.size(), 2500u);
    }
  EXPECT_THAT(chart_html({.title = "x", .lines = {{"x", &flat}}}), HasSubstr("M500 500h0"));
}

TEST(ShortValue, HasFourDigits) {
  EXPECT_EQ(short_value(0.693147), "0.6931");
  EXPECT_EQ(short_value(-0.0), "0");
  EXPECT_EQ(short_value(9999), "9999");
  EXPECT_EQ(short_value(12'500), "12.5k");
  EXPECT_EQ(short_value(1034, 3), "1.03k");
  EXPECT_EQ(short_value(-2e6), "-2M");
  EXPECT_EQ(short_value(3e9), "3G");
  EXPECT_EQ(short_value(-infinite), "-infinity");
}

TEST(ReportValues, Percentiles) {
  Array values({101}, DType::i32);  // 0 to 100 in another order
  for (int i = 0; i <= 100; ++i)
    values.span<std::int32_t>()[static_cast<std::size_t>(i)] = i * 7 % 101;
  EXPECT_THAT(percentiles_of(values), ElementsAre(5, 25, 50, 75, 95));
  EXPECT_TRUE(std::isnan(percentiles_of(Array::of({1.f, std::nanf("")}))[2]));
  EXPECT_TRUE(std::isnan(percentiles_of(Array(Shape{0}, DType::f32))[0]));
}

TEST(ReportValues, ImagesBecomeBytes) {
  auto shown = shown_images(Array::of({0.f, 0.5f, 1.f, 7.f}, {2, 1, 2, 1}), "x");
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_TRUE(identical(shown[0], Array::of({std::uint8_t{0}, std::uint8_t{128}}, {1, 2, 1})));
  EXPECT_TRUE(identical(shown[1], Array::of({std::uint8_t{255}, std::uint8_t{255}}, {1, 2, 1})));
}

TEST(ReportValues, ImagesAreCopies) {
  Array image = Array::zeros({1, 2, 1}, DType::u8);
  auto shown = shown_images(image, "x");
  image.span<std::uint8_t>()[1] = 7;
  EXPECT_TRUE(identical(shown[0], Array::zeros({1, 2, 1}, DType::u8)));
}

TEST(ReportValues, LargeImagesAndManyAreThinned) {
  Array large = Array::zeros({600, 1025, 3}, DType::u8);
  large.span<std::uint8_t>()[(3 * 1025 + 6) * 3 + 1] = 200;  // row 3, column 6, green
  Array shown = shown_images(large, "x").at(0);
  EXPECT_EQ(shown.shape(), (Shape{200, 342, 3}));  // every third
  EXPECT_EQ(shown.at((1 * 342 + 2) * 3 + 1), 200);
  EXPECT_EQ(shown_images(Array::zeros({40, 2, 2, 4}, DType::u8), "x").size(), 16u);
  EXPECT_EQ(error_of([] {
              shown_images(Array::zeros({2, 2, 2}, DType::u8), "a picture");
            }),
            "report: expected images [n, h, w, 1 | 3 | 4], u8 or floating, for `a picture`, got "
            "u8[2, 2, 2]");
}

TEST(ReportValues, TextsEndAtTheirFirstZero) {
  std::string_view bytes("one\0xtwo\0y", 10);
  Array rows = Array::of(
      std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), {2, 5});
  EXPECT_EQ(shown_text({"t", SummaryKind::text, rows}), "one\ntwo");
  EXPECT_EQ(shown_text({"t", SummaryKind::text, rows.row(1)}), "two");
  Array endless({20'000}, DType::u8);
  std::ranges::fill(endless.span<std::uint8_t>(), 'x');
  EXPECT_EQ(shown_text({"t", SummaryKind::text, endless}).size(), 10'000u);
}

ReportData full_data(const std::string& name) {
  ReportData data{.title = name,
                  .model_dir = name,
                  .plan = name,
                  .facts = {{name, name}},
                  .outcome = Outcome::failed,
                  .reason = name,
                  .written = 1.7e9,
                  .step = 5,
                  .last_step = 10};
  for (CurveGroup group : {CurveGroup::value, CurveGroup::evaluation, CurveGroup::scalar,
                           CurveGroup::rate, CurveGroup::speed})
    data.curves.emplace(CurveKey{group, name, name}, curve_of({{1, 2}, {2, nan}, {3, 3}}));
  for (const char* p : percentiles)
    data.curves.emplace(CurveKey{CurveGroup::histogram, name, p}, curve_of({{1, std::stod(p)}}));
  data.images[name] = {4, {Array::zeros({2, 3, 3}, DType::u8)}};
  data.texts[name] = {4, name};
  data.time = {
      .all = 10, .waited = 1, .steps = {.compute = 6, .hidden_reduction = 0.5, .apply = 2}};
  data.stages = {{.name = name, .elements = 7, .bytes = 2048, .busy = 0.25}};
  return data;
}

TEST(ReportPage, IsWellFormedWhateverNamesAre) {
  std::string harmless = report_page(full_data("plain"));
  EXPECT_EQ(xml_fault(harmless), "");
  std::string page = report_page(full_data("<script>alert('\"&\x02\xFF')</script>"));
  EXPECT_EQ(xml_fault(page), "");
  EXPECT_EQ(count(page, "<script"), 1u);
  EXPECT_EQ(count(page, "alert("), count(page, "&lt;script&gt;alert("));
  EXPECT_EQ(count(page, "alert("), count(harmless, "plain"));
  EXPECT_EQ(xml_fault(report_page({.title = "nothing yet"})), "");
}

TEST(ReportPage, NeedsNothingElse) {
  std::string page = report_page(full_data("x"));
  for (const char* word : {"href", "url(", "@import", "src=\"http", "fetch", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_EQ(count(page, "://"), 1u);  // the name of XHTML
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportPage, ShowsEverything) {
  ReportData data = full_data("x");
  data.curves.emplace(CurveKey{CurveGroup::value, "loss"}, curve_of({{1, 0.25}}));
  data.curves.emplace(CurveKey{CurveGroup::evaluation, "loss"}, curve_of({{1, 0.5}}));
  std::string page = report_page(data);
  EXPECT_THAT(page, HasSubstr("<span class=\"state failed\">failed</span> step 5 of 10, written "
                              "2023-11-14 22:13:20 UTC</p>"));
  EXPECT_THAT(page, HasSubstr("<div class=\"done failed\"><div style=\"width:50.0%\">"));
  EXPECT_THAT(page, HasSubstr("<b>0.5</b><span>loss, evaluation</span>"));
  EXPECT_THAT(page, HasSubstr("training 0.25, evaluation 0.5 at step 1"));
  EXPECT_THAT(page, HasSubstr(base64(data::encode_png(Array::zeros({2, 3, 3}, DType::u8)))));
  EXPECT_THAT(page, HasSubstr("alt=\"x, 1 of 1, at step 4\" width=\"120\"/>"));
  EXPECT_THAT(page, HasSubstr("input</td><td>10.0%</td><td>1.0 s</td>"));
  EXPECT_THAT(page, HasSubstr("other</td><td>10.0%</td><td>1.0 s</td>"));
  EXPECT_THAT(page, HasSubstr("hidden</td><td>+5.0%</td>"));
  EXPECT_THAT(page, HasSubstr("x</td><td>7</td><td>2.0 KiB</td><td>0.25 s</td>"));
  EXPECT_THAT(page, HasSubstr("<dt>x</dt><dd>x</dd>"));
}

TEST(ReportPage, Durations) {
  EXPECT_EQ(duration_text(75.9), "01:15");
  EXPECT_EQ(duration_text(7275), "2:01:15");
}

}  // namespace
}  // namespace belfry::hooks
