#include <array>
#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>

#include "belfry/data/formats/opencv_call.h"
#include "belfry/data/sources/digits.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr int side = 28;
constexpr int scale = 3;  // drawn this much larger, then averaged down
constexpr int canvas = side * scale;

constexpr std::array faces{cv::FONT_HERSHEY_SIMPLEX,        cv::FONT_HERSHEY_PLAIN,
                           cv::FONT_HERSHEY_DUPLEX,         cv::FONT_HERSHEY_COMPLEX,
                           cv::FONT_HERSHEY_TRIPLEX,        cv::FONT_HERSHEY_COMPLEX_SMALL,
                           cv::FONT_HERSHEY_SCRIPT_SIMPLEX, cv::FONT_HERSHEY_SCRIPT_COMPLEX};

float between(PhiloxStream& random, double low, double high) {
  return random.uniform(static_cast<float>(low), static_cast<float>(high));
}

// The digit upright in the middle of the canvas, 20 pixels high after averaging, white on black.
cv::Mat glyph(std::int64_t digit, PhiloxStream& random) {
  int face = faces[random.below(faces.size())];
  if (random.flip(0.3f)) face |= cv::FONT_ITALIC;
  int thickness = 3 + static_cast<int>(random.below(7));
  std::string text(1, static_cast<char>('0' + digit));
  double size = 20.0 * scale / cv::getTextSize(text, face, 1.0, 1, nullptr).height;
  cv::Size box = cv::getTextSize(text, face, size, thickness, nullptr);
  cv::Mat out = cv::Mat::zeros(canvas, canvas, CV_8U);
  cv::Point origin((canvas - box.width) / 2, (canvas + box.height) / 2);
  // No antialiasing here, which is slow: averaging down smooths the edges.
  cv::putText(out, text, origin, face, size, cv::Scalar(255), thickness, cv::LINE_8);
  return out;
}

// Where each pixel of the result comes from: the inverse of a rotation, shear, scaling and shift
// about the middle, plus one sine wave along each axis.
void bend(cv::Mat& image, PhiloxStream& random) {
  float angle = between(random, -0.3, 0.3);  // radians
  float shear = between(random, -0.25, 0.25);
  float zoom_x = between(random, 0.9, 1.4), zoom_y = between(random, 0.95, 1.3);
  float shift_x = between(random, -2.5 * scale, 2.5 * scale);
  float shift_y = between(random, -2.5 * scale, 2.5 * scale);
  float a = zoom_x * (std::cos(angle) + shear * std::sin(angle));
  float b = zoom_x * (shear * std::cos(angle) - std::sin(angle));
  float c = zoom_y * std::sin(angle), d = zoom_y * std::cos(angle);

  std::array<std::array<float, canvas>, 2> waves;
  for (auto& wave : waves) {
    float height = between(random, 0, 1.3 * scale);
    float phase = between(random, 0, 2 * std::numbers::pi);
    float speed = between(random, 0.5, 1.5) * 2 * std::numbers::pi_v<float> / canvas;
    for (int i = 0; i < canvas; ++i) wave[i] = height * std::sin(speed * i + phase);
  }

  cv::Mat from(canvas, canvas, CV_32FC2);
  constexpr float middle = (canvas - 1) / 2.0f;
  for (int y = 0; y < canvas; ++y) {
    auto* row = from.ptr<cv::Vec2f>(y);
    float v = y - middle - shift_y;
    for (int x = 0; x < canvas; ++x) {
      float u = x - middle - shift_x;
      row[x][0] = a * u + b * v + middle + waves[0][y];
      row[x][1] = c * u + d * v + middle + waves[1][x];
    }
  }
  cv::Mat out;
  cv::remap(image, out, from, cv::noArray(), cv::INTER_LINEAR, cv::BORDER_CONSTANT);
  image = out;
}

void draw(std::int64_t digit, PhiloxStream& random, std::span<float> pixels) {
  cv::Mat small;
  opencv_call([&] {
    cv::Mat image = glyph(digit, random);
    bend(image, random);
    cv::resize(image, small, cv::Size(side, side), 0, 0, cv::INTER_AREA);
  });

  float ink = between(random, 0.6, 1.0);
  float paper = between(random, 0.0, 0.15);
  float noise = between(random, 0.0, 0.2);
  for (int p = 0; p < side * side; ++p) {
    float shade = small.data[p] / 255.0f;
    float value = paper + (ink - paper) * shade + between(random, -noise, noise);
    pixels[p] = std::min(std::max(value, 0.0f), 1.0f);
  }
}

}  // namespace

Dataset drawn_digits(const DrawnDigitsOptions& options) {
  require(options.count >= 0, "drawn_digits: count must be at least 0, got ", options.count);
  PhiloxKey key = philox_key(options.seed, "drawn_digits/" + to_string(options.split));
  auto render = [key](Features in) {
    std::int64_t index = in.at("value").span<std::int64_t>()[0];
    PhiloxStream random(key, index);
    Features out{{"image", Array({side, side, 1}, DType::f32)}, {"label", Array({}, DType::i64)}};
    std::int64_t digit = random.below(10);
    out.at("label").span<std::int64_t>()[0] = digit;
    draw(digit, random, out.at("image").span<float>());
    return out;
  };
  return range(options.count) | map(render, {.workers = options.workers});
}

}  // namespace belfry::data
