#include "belfry/hooks/report/report_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "belfry/data/formats/images/image.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json_tree.h"
#include "belfry/framework/base/text.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

constexpr std::int64_t most_images = 16, most_pixels = 512;
constexpr std::size_t most_bytes = 10'000;

// u8 [h, w, c], always of its own memory: the caller may go on writing to the image.
Array thinned(const Array& image) {
  std::int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  std::int64_t stride = (std::max(height, width) + most_pixels - 1) / most_pixels;
  Array out({(height + stride - 1) / stride, (width + stride - 1) / stride, channels}, DType::u8);
  auto from = image.span<std::uint8_t>();
  auto to = out.span<std::uint8_t>().begin();
  for (std::int64_t y = 0; y < height; y += stride)
    for (std::int64_t x = 0; x < width; x += stride)
      to = std::copy_n(from.begin() + (y * width + x) * channels, channels, to);
  return out;
}

JsonNode word_or_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity";
}

JsonNode json_of(const CurvePoint& p) {
  if (p.count == 1 && p.not_finite == 0) return JsonNode::list({p.first, p.mean});
  return JsonNode::list({p.first, p.last, p.count, p.not_finite, p.mean, p.low, p.high});
}

JsonNode json_of(const CurveKey& key, const Curve& curve) {
  JsonNode points = JsonNode::list();
  for (const CurvePoint& p : curve.points()) points.push(json_of(p));
  return JsonNode::object({{"group", to_string(key.group)},
                           {"name", key.name},
                           {"series", key.series},
                           {"points", std::move(points)},
                           {"latest_step", curve.latest_step()},
                           {"latest", word_or_number(curve.latest())}});
}

JsonNode json_of(const std::string& name, const ReportImages& shown) {
  JsonNode pngs = JsonNode::list();
  for (const Array& image : shown.images)
    pngs.push(JsonNode::object(
        {{"width", image.shape()[1]}, {"base64", base64(data::encode_png(image))}}));
  return JsonNode::object({{"name", name}, {"step", shown.step}, {"pngs", std::move(pngs)}});
}

JsonNode json_of(const std::string& name, const ReportText& shown) {
  return JsonNode::object({{"name", name}, {"step", shown.step}, {"text", shown.text}});
}

JsonNode json_of(const std::string& name, const std::string& fact) {
  return JsonNode::list({name, fact});
}

JsonNode json_of(const InputStage& s) {
  return JsonNode::object({{"name", s.name},
                           {"depth", s.depth},
                           {"elements", s.elements},
                           {"bytes", s.bytes},
                           {"busy", s.busy},
                           {"upstream", s.upstream},
                           {"downstream", s.downstream},
                           {"queue", s.queue},
                           {"buffer", s.buffer},
                           {"workers", s.workers}});
}

// One value after the other, since a tree of all points would be large.
template <class List>
std::string text_of(const List& values) {
  std::string out;
  for (const auto& value : values) {
    out += out.empty() ? '[' : ',';
    if constexpr (requires { json_of(value); }) {
      out += json_of(value).text();
    } else {
      out += json_of(value.first, value.second).text();
    }
  }
  return (out.empty() ? "[" : out) + "]";
}

std::string text_of(const ReportData& data) {
  const StepTimes& times = data.steps.times;
  JsonNode head =
      JsonNode::object({{"title", data.title},
                        {"model_dir", data.model_dir},
                        {"plan", data.plan},
                        {"state", data.outcome ? to_string(*data.outcome) : "running"},
                        {"reason", data.reason},
                        {"written", date_text(data.written)},
                        {"step", data.step},
                        {"last_step", data.last_step ? JsonNode(*data.last_step) : JsonNode()},
                        {"time", JsonNode::object({{"all", data.seconds},
                                                   {"input", data.steps.input_wait_seconds},
                                                   {"copy", times.copy},
                                                   {"compute", times.compute},
                                                   {"transfer", times.transfer},
                                                   {"reduce", times.exposed_reduction},
                                                   {"hidden", times.hidden_reduction},
                                                   {"apply", times.apply}})}});
  std::string out = head.text();
  out.back() = ',';
  return concat(out, "\"facts\":", text_of(data.facts), ",\"curves\":", text_of(data.curves),
                ",\"images\":", text_of(data.images), ",\"texts\":", text_of(data.texts),
                ",\"stages\":", text_of(data.stages), "}");
}

}  // namespace

std::array<double, 5> percentiles_of(const Array& values) {
  Array floats = values.cast(DType::f32);
  auto all = floats.span<float>();
  std::array<double, 5> out;
  out.fill(std::numeric_limits<double>::quiet_NaN());
  if (all.empty() || !std::ranges::all_of(all, [](float v) { return std::isfinite(v); }))
    return out;
  std::vector<float> sorted(all.begin(), all.end());
  std::ranges::sort(sorted);
  double last = sorted.size() - 1;
  constexpr std::array<double, 5> quantiles{0.05, 0.25, 0.5, 0.75, 0.95};
  for (std::size_t i = 0; i < quantiles.size(); ++i)
    out[i] = sorted[std::lround(quantiles[i] * last)];
  return out;
}

std::vector<Array> shown_images(const Array& images, std::string_view name) {
  require(images.defined(), "report: the images `", name, "` are undefined");
  Array all = images.shape().rank() == 3
                  ? images.reshape({1, images.shape()[0], images.shape()[1], images.shape()[2]})
                  : images;
  const Shape& shape = all.shape();
  require((is_floating(all.dtype()) || all.dtype() == DType::u8) && shape.rank() == 4
              && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4) && shape.elements() > 0,
          "report: expected images [n, h, w, 1 | 3 | 4], u8 or floating, for `", name, "`, got ",
          images.type());
  std::vector<Array> out;
  for (std::int64_t i = 0; i < std::min(shape[0], most_images); ++i)
    out.push_back(thinned(as_pixels(all.row(i))));
  return out;
}

std::string shown_text(const SummaryValue& summary) {
  return join(texts_of(summary), "\n").substr(0, most_bytes);
}

// In JSON a < can only be in a string, where it may be written as its code: so nothing in the data
// ends the script that holds them.
std::string report_page(const ReportData& data) {
  constexpr std::string_view marker = "REPORT_DATA";
  std::size_t at = report_template.find(marker);
  std::string out(report_template.substr(0, at));
  for (char c : text_of(data)) c == '<' ? out += "\\u003c" : out += c;
  return out.append(report_template.substr(at + marker.size()));
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three =
          three << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string date_text(double seconds) {
  auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return text.data();
}

}  // namespace belfry::hooks
