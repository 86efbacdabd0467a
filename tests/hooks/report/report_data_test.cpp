// The script of report.html is covered by tests/python/read_report.py.
#include "belfry/hooks/report/report_data.h"

#include <gmock/gmock.h>

#include <limits>

#include "../../framework/base/error_of.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/hooks/record/values.h"
#include "data_of.h"

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

// RFC 4648, section 10.
TEST(ReportPage, Base64) {
  auto encoded = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
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
                  .model_dir = "dir",
                  .plan = "plan",
                  .facts = {{name, "value"}},
                  .outcome = Outcome::failed,
                  .reason = "broken",
                  .written = 1.7e9,
                  .step = 5,
                  .last_step = 10,
                  .seconds = 10,
                  .steps = {.input_wait_seconds = 1,
                            .times = {.copy = 0.25,
                                      .compute = 6,
                                      .transfer = 0.5,
                                      .exposed_reduction = 0.125,
                                      .hidden_reduction = 0.75,
                                      .apply = 2}}};
  Curve two(1);
  two.add(2, 1), two.add(3, 4);
  data.curves.emplace(CurveKey{CurveGroup::value, name}, curve_of({{1, 2}, {2, nan}}));
  data.curves.emplace(CurveKey{CurveGroup::evaluation, "loss", "test"}, two);
  data.curves.emplace(CurveKey{CurveGroup::scalar, "s"}, curve_of({{1, infinite}}));
  data.curves.emplace(CurveKey{CurveGroup::histogram, "h", "5"}, curve_of({{1, -infinite}}));
  data.curves.emplace(CurveKey{CurveGroup::rate, "r"}, curve_of({{1, 0.5}}));
  data.curves.emplace(CurveKey{CurveGroup::speed, "steps/s"}, curve_of({{1, 3}}));
  data.images["drawn"] = {4, {Array::zeros({2, 3, 3}, DType::u8)}};
  data.texts["said"] = {4, name};
  data.stages = {{.name = "map",
                  .depth = 1,
                  .elements = 7,
                  .bytes = 2048,
                  .busy = 0.25,
                  .upstream = 0.5,
                  .downstream = 0.75,
                  .queue = 1.5,
                  .buffer = 2,
                  .workers = 3}};
  return data;
}

TEST(ReportPage, HoldsAllDataAsJson) {
  std::string png = base64(data::encode_png(Array::zeros({2, 3, 3}, DType::u8)));
  auto expected = nlohmann::json::parse(R"({
    "title": "x", "model_dir": "dir", "plan": "plan", "facts": [["x", "value"]],
    "state": "failed", "reason": "broken", "written": "2023-11-14 22:13:20 UTC",
    "step": 5, "last_step": 10,
    "curves": [
      {"group": "value", "name": "x", "series": "", "latest_step": 2, "latest": "NaN",
       "points": [[1, 2.0], [2, 2, 0, 1, 0.0, 0.0, 0.0]]},
      {"group": "evaluation", "name": "loss", "series": "test", "latest_step": 3, "latest": 4.0,
       "points": [[2, 3, 2, 0, 2.5, 1.0, 4.0]]},
      {"group": "scalar", "name": "s", "series": "", "latest_step": 1, "latest": "infinity",
       "points": [[1, 1, 0, 1, 0.0, 0.0, 0.0]]},
      {"group": "histogram", "name": "h", "series": "5", "latest_step": 1, "latest": "-infinity",
       "points": [[1, 1, 0, 1, 0.0, 0.0, 0.0]]},
      {"group": "rate", "name": "r", "series": "", "latest_step": 1, "latest": 0.5,
       "points": [[1, 0.5]]},
      {"group": "speed", "name": "steps/s", "series": "", "latest_step": 1, "latest": 3.0,
       "points": [[1, 3.0]]}],
    "images": [{"name": "drawn", "step": 4, "pngs": [{"width": 3}]}],
    "texts": [{"name": "said", "step": 4, "text": "x"}],
    "time": {"all": 10.0, "input": 1.0, "copy": 0.25, "compute": 6.0, "transfer": 0.5,
             "reduce": 0.125, "hidden": 0.75, "apply": 2.0},
    "stages": [{"name": "map", "depth": 1, "elements": 7, "bytes": 2048, "busy": 0.25,
                "upstream": 0.5, "downstream": 0.75, "queue": 1.5, "buffer": 2, "workers": 3}]})");
  expected["images"][0]["pngs"][0]["base64"] = png;
  EXPECT_EQ(data_of(report_page(full_data("x"))), expected);
  auto nothing = data_of(report_page({.title = "nothing yet"}));
  EXPECT_EQ(nothing["state"], "running");
  EXPECT_TRUE(nothing["last_step"].is_null());
}

TEST(ReportPage, NothingInTheDataEndsTheirBlock) {
  const std::string hostile = "</script><!--<script>alert('\"&\x02";
  std::string page = report_page(full_data(hostile));
  EXPECT_EQ(data_of(page)["title"], hostile);
  EXPECT_EQ(data_of(page)["facts"][0][0], hostile);
  EXPECT_EQ(count(page, "<script"), count(report_page({}), "<script"));
  EXPECT_EQ(count(page, "alert("), 4u);  // title, fact, curve and text
  EXPECT_EQ(data_of(report_page({.title = "\xFF"}))["title"], "\xEF\xBF\xBD");
}

TEST(ReportPage, NeedsNothingElse) {
  std::string page = report_page(full_data("x"));
  for (const char* word : {"href", "url(", "@import", "src=\"http", "fetch", "<link", "://"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(count(page, "REPORT_DATA"), 0u);
}

TEST(ReportPage, Durations) {
  EXPECT_EQ(duration_text(75.9), "01:15");
  EXPECT_EQ(duration_text(7275), "2:01:15");
}

}  // namespace
}  // namespace belfry::hooks
