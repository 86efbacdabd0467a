#include "belfry/data/formats/spectrogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <opencv2/core.hpp>
#include <span>
#include <utility>
#include <vector>

#include "belfry/data/formats/opencv_call.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr int max_length = 1 << 24;  // samples
constexpr std::int64_t frames_at_once = 256;

void check(const SpectrogramOptions& o) {
  for (auto [value, name] :
       {std::pair(o.frame_length, "frame_length"), {o.frame_step, "frame_step"}})
    require(value >= 1 && value <= max_length, "spectrogram: ", name, " is ", value,
            ", expected 1 to ", max_length);
  require(o.fft_length == 0 || (o.fft_length >= o.frame_length && o.fft_length <= max_length),
          "spectrogram: fft_length is ", o.fft_length, ", expected 0 or frame_length (",
          o.frame_length, ") to ", max_length);
  require(o.power == 1 || o.power == 2, "spectrogram: power is ", o.power, ", expected 1 or 2");
}

int fft_length(const SpectrogramOptions& o) {
  if (o.fft_length != 0) return o.fft_length;
  return std::bit_ceil(static_cast<unsigned>(o.frame_length));
}

std::vector<float> window_of(const SpectrogramOptions& o) {
  if (o.window == Window::rectangular) return std::vector<float>(o.frame_length, 1.0f);
  double a = o.window == Window::hann ? 0.5 : 0.54;
  std::vector<float> out;
  for (int i = 0; i < o.frame_length; ++i)
    out.push_back(
        static_cast<float>(a - (1 - a) * std::cos(2 * std::numbers::pi * i / o.frame_length)));
  return out;
}

std::span<const float> one_channel(const Array& samples) {
  const Shape& shape = samples.shape();
  require(samples.defined() && samples.dtype() == DType::f32
              && (shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1)),
          "spectrogram: expected samples f32[n] or f32[n, 1], got ", samples.type(),
          "; take one channel or the mean of several");
  return samples.span<float>();
}

// OpenCV packs the spectrum of a real row as re(0), re(1), im(1), re(2), im(2), ...; with an even
// length the last number is the real one at half the sampling rate.
void take_power(const float* packed, int length, int power, std::span<float> out) {
  int bins = out.size();
  for (int k = 0; k < bins; ++k) {
    bool real = k == 0 || 2 * k == length;
    float re = packed[k == 0 ? 0 : 2 * k - 1];
    float im = real ? 0.0f : packed[2 * k];
    float squared = re * re + im * im;
    out[k] = power == 2 ? squared : std::sqrt(squared);
  }
}

// An element of the bank that is not 0 (a few in a hundred): no bin counts in more than two bands.
struct Entry {
  std::int64_t bin, band;
  float weight;
};

std::vector<Entry> entries_of(const Array& bank) {
  std::vector<Entry> out;
  auto weights = bank.span<float>();
  const std::int64_t mels = bank.shape()[1];
  for (std::int64_t i = 0; i < bank.elements(); ++i)
    if (float weight = weights[i]; weight != 0) out.push_back({i / mels, i % mels, weight});
  return out;
}

double mel(double hz) { return 1127.0 * std::log1p(hz / 700.0); }

}  // namespace

Array spectrogram(const Array& samples, const SpectrogramOptions& options) {
  check(options);
  std::span<const float> x = one_channel(samples);
  const int length = fft_length(options);
  const std::int64_t n = x.size();
  const std::int64_t frames =
      n < options.frame_length ? 0 : 1 + (n - options.frame_length) / options.frame_step;
  Array out({frames, length / 2 + 1}, DType::f32);
  std::vector<float> window = window_of(options);

  // Many rows in one call: OpenCV prepares its tables anew for each.
  cv::Mat block, spectrum;
  auto transform = [&](std::int64_t first) {
    int rows = std::min(frames - first, frames_at_once);
    block = cv::Mat::zeros(rows, length, CV_32F);
    for (int row = 0; row < rows; ++row) {
      const float* from = x.data() + (first + row) * options.frame_step;
      std::transform(window.begin(), window.end(), from, block.ptr<float>(row), std::multiplies());
    }
    cv::dft(block, spectrum, cv::DFT_ROWS);
    for (int row = 0; row < rows; ++row) {
      Array frame = out.row(first + row);
      take_power(spectrum.ptr<float>(row), length, options.power, frame.span<float>());
    }
  };
  opencv_call([&] {
    for (std::int64_t first = 0; first < frames; first += frames_at_once) transform(first);
  });
  return out;
}

Array mel_filter_bank(const MelOptions& o) {
  require(o.mels >= 1 && o.bins >= 2 && o.sample_rate >= 1, "mel_filter_bank: mels is ", o.mels,
          ", bins ", o.bins, " and sample_rate ", o.sample_rate, ", expected at least 1, 2 and 1");
  const double nyquist = o.sample_rate / 2.0;
  const double high_hz = o.high_hz == 0 ? nyquist : o.high_hz;
  require(o.low_hz >= 0 && o.low_hz < high_hz && high_hz <= nyquist, "mel_filter_bank: low_hz is ",
          o.low_hz, " and high_hz ", high_hz,
          ", expected 0 <= low_hz < high_hz <= sample_rate / 2 = ", nyquist);

  Array out = Array::zeros({o.bins, o.mels});
  const double low = mel(o.low_hz), step = (mel(high_hz) - low) / (o.mels + 1);
  for (int bin = 0; bin < o.bins; ++bin) {
    // In steps from the lower end, so that band m has its corners at m, m + 1 and m + 2.
    double at = (mel(nyquist * bin / (o.bins - 1)) - low) / step;
    Array bands = out.row(bin);
    auto row = bands.span<float>();
    for (int band = 0; band < o.mels; ++band)
      row[band] = static_cast<float>(std::max(0.0, std::min(at - band, band + 2 - at)));
  }
  return out;
}

Array log_mel(const Array& samples, const LogMelOptions& options) {
  require(options.offset > 0, "log_mel: offset must be positive, got ", options.offset);
  Array power = spectrogram(samples, options.spectrogram);
  const std::int64_t frames = power.shape()[0], bins = power.shape()[1];
  Array bank = mel_filter_bank({.mels = options.mels,
                                .bins = static_cast<int>(bins),
                                .sample_rate = options.sample_rate,
                                .low_hz = options.low_hz,
                                .high_hz = options.high_hz});
  Array out = Array::zeros({frames, options.mels});
  const std::vector<Entry> entries = entries_of(bank);
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const float* strength = power.span<float>().data() + frame * bins;
    float* bands = out.span<float>().data() + frame * options.mels;
    for (const Entry& e : entries) bands[e.band] += strength[e.bin] * e.weight;
  }
  for (float& band : out.span<float>()) band = std::log(band + options.offset);
  return out;
}

}  // namespace belfry::data
