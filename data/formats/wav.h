#pragma once
// WAV: sound in RIFF/WAVE files.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// A recording.
struct Wav {
  Array samples;        ///< f32 [frames, channels]
  int sample_rate = 0;  ///< frames a second
  int channels = 0;
  int bits = 0;  ///< a sample took in the file
};

/// Parses a WAV file: PCM of 8 (unsigned), 16, 24 or 32 bits, IEEE floats of 32 or 64 bits, plain
/// or as WAVE_FORMAT_EXTENSIBLE. Whole numbers are divided by 2^(bits - 1) and so lie in [-1, 1)
/// (of 32 bits the 64 highest values round to 1); floats stay as they are. Chunks may come in any
/// order, unknown ones are skipped, the length in the RIFF header is not looked at, nor is anything
/// behind the later one of the two chunks that count. Error naming `name` and the byte offset:
/// another format, a damaged header, no "fmt " or "data" chunk, samples cut off in the middle, or a
/// chunk that claims to reach beyond the end, as recorders that stream leave it: their files need
/// to be rewritten with the true length.
Wav parse_wav(std::span<const std::byte> bytes, std::string_view name = "WAV data");

/// Reads and parses a file. Error: also one that cannot be read.
Wav read_wav(const std::string& path);

enum class WavEncoding { pcm16, float32 };

struct WavOptions {
  int sample_rate;  ///< frames a second
  WavEncoding encoding = WavEncoding::pcm16;
};

/// The bytes of a WAV file that holds `samples`, f32 [frames, channels], or [frames] for one
/// channel. pcm16 rounds to the nearest of 65536 steps and clips to [-1, 1). Error: another type or
/// shape, no channels or frames of more than 65535 bytes, sample_rate below 1, NaN in pcm16, a file
/// above 4 GiB.
std::vector<std::byte> encode_wav(const Array& samples, const WavOptions& options);

/// Writes encode_wav() to a file, whole or not at all. Error: also a file that cannot be written.
void write_wav(const std::string& path, const Array& samples, const WavOptions& options);

}  // namespace belfry::data
