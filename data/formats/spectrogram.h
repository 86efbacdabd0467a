#pragma once
// Spectrograms of sound. The conventions are those of tf.signal.

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// The factors that each frame is multiplied by. All are periodic (of period frame_length, as for
/// analysis): hann is 0.5 - 0.5 cos(2 pi i / frame_length), hamming is
/// 0.54 - 0.46 cos(2 pi i / frame_length). For an odd frame_length tf.signal divides by
/// frame_length - 1 instead.
enum class Window { hann, hamming, rectangular };

/// Options of spectrogram(). Lengths are in samples.
struct SpectrogramOptions {
  int frame_length = 400;  ///< at most 2^24
  int frame_step = 160;    ///< from the start of one frame to that of the next
  int fft_length = 0;      ///< frames are filled up with zeros to this; 0: the next power of two
  Window window = Window::hann;  ///< the factors of each frame
  int power = 2;                 ///< 2: squared magnitudes; 1: magnitudes
};

/// The short-time Fourier transform of `samples`, f32 [n] or [n, 1], without phases: f32
/// [frames, fft_length / 2 + 1]. Frames that would reach beyond the last sample are left out, so
/// there are 1 + (n - frame_length) / frame_step, and none for n < frame_length. Not scaled: a sine
/// of amplitude a in the middle of a bin has magnitude a / 2 times the sum of the window.
/// Error: another type or shape; a length below 1 or above 2^24; fft_length below frame_length;
/// power neither 1 nor 2.
Array spectrogram(const Array& samples, const SpectrogramOptions& options = {});

/// Options of mel_filter_bank().
struct MelOptions {
  int mels = 80;       ///< bands, at least 1
  int bins;            ///< of the spectrogram: fft_length / 2 + 1
  int sample_rate;     ///< in Hz
  double low_hz = 20;  ///< lower end of the first band
  double high_hz = 0;  ///< 0: half the sample rate
};

/// f32 [bins, mels], which turns a spectrogram into mel bands by matrix multiplication, as
/// tf.signal.linear_to_mel_weight_matrix makes it. The scale is HTK's, mel(f) = 1127 ln(1 + f /
/// 700); the `mels` triangles have height 1, are straight in mel, and their corners lie evenly from
/// mel(low_hz) to mel(high_hz). The first bin (0 Hz) counts nowhere. Where bands are narrower than
/// bins, a band may be 0. Error: mels, sample_rate or bins - 1 below 1, or not
/// 0 <= low_hz < high_hz <= sample_rate / 2.
Array mel_filter_bank(const MelOptions& options);

/// Options of log_mel().
struct LogMelOptions {
  int sample_rate;                      ///< in Hz
  int mels = 80;                        ///< bands, at least 1
  double low_hz = 20;                   ///< lower end of the first band
  double high_hz = 0;                   ///< 0: half the sample rate
  float offset = 1e-6f;                 ///< keeps silence finite
  SpectrogramOptions spectrogram = {};  ///< how the spectrogram is made
};

/// ln(spectrogram x mel_filter_bank + offset): f32 [frames, mels]. Errors are those of the two, and
/// an offset that is not positive.
Array log_mel(const Array& samples, const LogMelOptions& options);

}  // namespace belfry::data
