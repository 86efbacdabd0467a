#include "belfry/data/formats/spectrogram.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "pipeline.h"

namespace belfry::data {
namespace {

constexpr double pi = std::numbers::pi;

Array noise(std::int64_t n) {
  PhiloxStream random(philox_key(3, "noise"));
  Array out({n}, DType::f32);
  for (float& x : out.span<float>()) x = random.uniform(-1, 1);
  return out;
}

double window_value(Window window, int i, int length) {
  if (window == Window::rectangular) return 1;
  double c = std::cos(2 * pi * i / length);
  return window == Window::hann ? 0.5 - 0.5 * c : 0.54 - 0.46 * c;
}

// The definition, term by term.
double magnitude(std::span<const float> x, std::int64_t begin, int bin, const SpectrogramOptions& o,
                 int fft) {
  std::complex<double> sum = 0;
  for (int i = 0; i < o.frame_length; ++i)
    sum += window_value(o.window, i, o.frame_length) * x[static_cast<std::size_t>(begin + i)]
           * std::polar(1.0, -2 * pi * bin * i / fft);
  return std::abs(sum);
}

void expect_is_the_transform(std::int64_t n, const SpectrogramOptions& o, int fft) {
  Array samples = noise(n), out = spectrogram(samples, o);
  std::int64_t frames = (n - o.frame_length) / o.frame_step + 1;
  ASSERT_EQ(out.shape(), Shape({frames, fft / 2 + 1}));
  for (std::int64_t frame = 0; frame < frames; frame += 1 + frames / 7)
    for (int bin = 0; bin <= fft / 2; ++bin) {
      double expected = magnitude(samples.span<float>(), frame * o.frame_step, bin, o, fft);
      // Rounding of a sum of frame_length terms of at most 1.
      double tolerance = 1e-6 * o.frame_length;
      if (o.power == 2) tolerance *= 2 * expected + tolerance;
      ASSERT_NEAR(out.at(frame * (fft / 2 + 1) + bin), std::pow(expected, o.power), tolerance)
          << "frame " << frame << ", bin " << bin;
    }
}

TEST(Spectrogram, IsTheFourierTransformOfWindowedFrames) {
  expect_is_the_transform(1000, {}, 512);
  expect_is_the_transform(1000, {.power = 1}, 512);
  expect_is_the_transform(700, {.window = Window::hamming}, 512);
  expect_is_the_transform(700, {.window = Window::rectangular}, 512);
  expect_is_the_transform(100, {.frame_length = 16, .frame_step = 16}, 16);
  expect_is_the_transform(100, {.frame_length = 16, .frame_step = 3, .fft_length = 64}, 64);
  expect_is_the_transform(60, {.frame_length = 15, .frame_step = 4, .fft_length = 15}, 15);
  expect_is_the_transform(60, {.frame_length = 9, .frame_step = 40, .fft_length = 30}, 30);
  expect_is_the_transform(9, {.frame_length = 1, .frame_step = 1}, 1);
}

TEST(Spectrogram, ManyFramesAreTakenInBlocks) {
  expect_is_the_transform(1000, {.frame_length = 8, .frame_step = 1}, 8);
  Array samples = noise(3000);
  SpectrogramOptions o{.frame_length = 8, .frame_step = 4};
  Array all = spectrogram(samples, o);
  for (std::int64_t frame : {0, 255, 256, 511, 512, 747}) {
    Array part({8}, DType::f32);
    auto from = samples.span<float>().subspan(static_cast<std::size_t>(frame * 4), 8);
    std::copy(from.begin(), from.end(), part.span<float>().begin());
    EXPECT_TRUE(identical(spectrogram(part, o).row(0), all.row(frame))) << frame;
  }
}

TEST(Spectrogram, ASineInTheMiddleOfABinHasHalfTheWindowsSum) {
  Array wave({64}, DType::f32);
  for (int i = 0; i < 64; ++i)
    wave.span<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(3 * std::sin(2 * pi * 5 * i / 64 + 0.3));
  Array out = spectrogram(wave, {.frame_length = 64, .frame_step = 1, .power = 1});
  ASSERT_EQ(out.shape(), Shape({1, 33}));
  // Hann's window sums to 32; beside the peak it leaves half of it, and nothing further off.
  for (int bin = 0; bin < 33; ++bin)
    EXPECT_NEAR(out.at(bin), bin == 5 ? 48 : bin == 4 || bin == 6 ? 24 : 0, 1e-4) << bin;
}

TEST(Spectrogram, CountsWholeFramesOnly) {
  auto frames = [](std::int64_t n) {
    return spectrogram(noise(n), {.frame_length = 10, .frame_step = 4}).shape()[0];
  };
  EXPECT_EQ(frames(0), 0);
  EXPECT_EQ(frames(9), 0);
  EXPECT_EQ(frames(10), 1);
  EXPECT_EQ(frames(13), 1);
  EXPECT_EQ(frames(14), 2);
  EXPECT_EQ(spectrogram(noise(40).reshape({40, 1})).shape(), Shape({0, 257}));
}

TEST(Spectrogram, RefusesWhatMakesNoSense) {
  auto error = [](const Array& samples, SpectrogramOptions o = {}) {
    return error_of([&] { spectrogram(samples, o); });
  };
  EXPECT_EQ(error(Array::zeros({2, 2})),
            "spectrogram: expected samples f32[n] or f32[n, 1], got "
            "f32[2, 2]; take one channel or the mean of several");
  EXPECT_THAT(error(Array::zeros({2}, DType::f64)), ::testing::HasSubstr("got f64[2]"));
  EXPECT_THAT(error(Array()), ::testing::HasSubstr("expected samples"));
  EXPECT_EQ(error(noise(9), {.frame_length = 0}),
            "spectrogram: frame_length is 0, expected 1 to 16777216");
  EXPECT_EQ(error(noise(9), {.frame_step = 0}),
            "spectrogram: frame_step is 0, expected 1 to 16777216");
  EXPECT_EQ(error(noise(9), {.fft_length = 399}),
            "spectrogram: fft_length is 399, expected 0 or frame_length (400) to 16777216");
  EXPECT_EQ(error(noise(9), {.power = 3}), "spectrogram: power is 3, expected 1 or 2");
}

// Values of tf.signal.linear_to_mel_weight_matrix's formula, worked out elsewhere.
TEST(MelFilterBank, IsThatOfTfSignal) {
  Array bank =
      mel_filter_bank({.mels = 3, .bins = 9, .sample_rate = 8000, .low_hz = 125, .high_hz = 3800});
  const double expected[9][3] = {{0, 0, 0},
                                 {0.883476923, 0, 0},
                                 {0.295262586, 0.704737414, 0},
                                 {0, 0.68733611, 0.31266389},
                                 {0, 0.20445834, 0.79554166},
                                 {0, 0, 0.803859188},
                                 {0, 0, 0.461539472},
                                 {0, 0, 0.162675942},
                                 {0, 0, 0}};
  ASSERT_EQ(bank.shape(), Shape({9, 3}));
  for (int bin = 0; bin < 9; ++bin)
    for (int band = 0; band < 3; ++band)
      EXPECT_NEAR(bank.at(bin * 3 + band), expected[bin][band], 1e-7) << bin << ", " << band;

  Array usual = mel_filter_bank(
      {.mels = 20, .bins = 129, .sample_rate = 8000, .low_hz = 125, .high_hz = 3800});
  double sum = 0;
  for (float x : usual.span<float>()) sum += x;
  EXPECT_NEAR(sum, 110.80084468, 1e-4);
  EXPECT_NEAR(usual.at(10 * 20 + 1), 0.464891705, 1e-6);
  EXPECT_NEAR(usual.at(10 * 20 + 2), 0.535108295, 1e-6);
}

TEST(MelFilterBank, ReachesHalfTheSampleRateByDefault) {
  EXPECT_TRUE(
      identical(mel_filter_bank({.mels = 5, .bins = 33, .sample_rate = 8000}),
                mel_filter_bank(
                    {.mels = 5, .bins = 33, .sample_rate = 8000, .low_hz = 20, .high_hz = 4000})));
}

TEST(MelFilterBank, RefusesWhatMakesNoSense) {
  auto error = [](MelOptions o) { return error_of([&] { mel_filter_bank(o); }); };
  EXPECT_EQ(
      error({.mels = 0, .bins = 9, .sample_rate = 8000}),
      "mel_filter_bank: mels is 0, bins 9 and sample_rate 8000, expected at least 1, 2 and 1");
  EXPECT_EQ(error({.bins = 9, .sample_rate = 8000, .high_hz = 4001}),
            "mel_filter_bank: low_hz is 20 and high_hz 4001, expected 0 <= low_hz < high_hz <= "
            "sample_rate / 2 = 4000");
  EXPECT_THAT(error({.bins = 9, .sample_rate = 8000, .low_hz = 500, .high_hz = 500}),
              ::testing::HasSubstr("low_hz is 500 and high_hz 500"));
  EXPECT_THAT(error({.bins = 9, .sample_rate = 8000, .low_hz = -1}),
              ::testing::HasSubstr("low_hz is -1"));
}

TEST(LogMel, IsTheLogarithmOfBandsOfTheSpectrogram) {
  Array samples = noise(2000);
  SpectrogramOptions o{.frame_length = 200, .frame_step = 80};
  Array power = spectrogram(samples, o);
  Array bank = mel_filter_bank({.mels = 10, .bins = 129, .sample_rate = 8000, .low_hz = 100});
  Array out = log_mel(samples, {.sample_rate = 8000, .mels = 10, .low_hz = 100, .spectrogram = o});
  ASSERT_EQ(out.shape(), Shape({23, 10}));
  for (std::int64_t frame = 0; frame < 23; ++frame)
    for (std::int64_t band = 0; band < 10; ++band) {
      double sum = 1e-6;
      for (std::int64_t bin = 0; bin < 129; ++bin)
        sum += power.at(frame * 129 + bin) * bank.at(bin * 10 + band);
      EXPECT_NEAR(out.at(frame * 10 + band), std::log(sum), 1e-5);
    }
}

TEST(LogMel, SilenceIsTheOffset) {
  Array out = log_mel(Array::zeros({400}), {.sample_rate = 16000});
  ASSERT_EQ(out.shape(), Shape({1, 80}));
  for (float x : out.span<float>()) EXPECT_FLOAT_EQ(x, std::log(1e-6f));
  EXPECT_EQ(error_of([&] { log_mel(Array::zeros({400}), {.sample_rate = 16000, .offset = 0}); }),
            "log_mel: offset must be positive, got 0");
}

}  // namespace
}  // namespace belfry::data
