#include "belfry/data/formats/wav.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "belfry/data/formats/binary_view.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

constexpr int pcm_code = 1;
constexpr int float_code = 3;
constexpr int extensible_code = 0xfffe;

struct Chunk {
  std::int64_t offset = 0;  // of its content
  std::int64_t size = 0;
};

struct Chunks {
  Chunk format, data;
};

Chunks find_chunks(const BinaryView& file) {
  require(file.spells(0, "RIFF") && file.spells(8, "WAVE"), file.name(),
          ": not a WAV file: it does not begin with RIFF....WAVE");
  std::optional<Chunk> format, data;
  std::int64_t at = 12;
  // Padding may be missing at the very end, so `at` may pass it by one.
  while ((!format || !data) && at < file.size()) {
    Chunk chunk{.offset = at + 8, .size = file.u32(at + 4)};
    std::optional<Chunk>* wanted = file.spells(at, "fmt ")   ? &format
                                   : file.spells(at, "data") ? &data
                                                             : nullptr;
    require(chunk.size <= file.size() - chunk.offset, file.name(), ": the chunk at byte ", at,
            " promises ", chunk.size, " bytes but ", file.size() - chunk.offset,
            " are left; the file is cut off, or was streamed and never given its true length");
    if (wanted) {
      require(!*wanted, file.name(), ": a second `fmt ` or `data` chunk at byte ", at);
      *wanted = chunk;
    }
    at = chunk.offset + chunk.size + chunk.size % 2;
  }
  require(format, file.name(), ": no `fmt ` chunk before the end at byte ", file.size());
  require(data, file.name(), ": no `data` chunk before the end at byte ", file.size());
  return {*format, *data};
}

struct Format {
  int code = 0;
  int channels = 0;
  int sample_rate = 0;
  int bits = 0;
  int frame_bytes() const { return channels * bits / 8; }
};

// The code within an extensible format: the first two bytes of a GUID, whose others are fixed.
int extended_code(const BinaryView& file, const Chunk& chunk) {
  constexpr std::string_view rest("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
  require(chunk.size >= 40, file.name(), ": the extensible `fmt ` chunk at byte ", chunk.offset,
          " has ", chunk.size, " bytes, expected at least 40");
  require(file.spells(chunk.offset + 26, rest), file.name(), ": the sub-format at byte ",
          chunk.offset + 24, " is neither PCM nor IEEE float");
  return file.u16(chunk.offset + 24);
}

Format read_format(const BinaryView& file, const Chunk& chunk) {
  require(chunk.size >= 16, file.name(), ": the `fmt ` chunk at byte ", chunk.offset, " has ",
          chunk.size, " bytes, expected at least 16");
  Format out{.code = file.u16(chunk.offset),
             .channels = file.u16(chunk.offset + 2),
             .bits = file.u16(chunk.offset + 14)};
  if (out.code == extensible_code) out.code = extended_code(file, chunk);
  std::uint32_t rate = file.u32(chunk.offset + 4);
  require(rate >= 1 && rate <= std::numeric_limits<std::int32_t>::max(), file.name(),
          ": the sample rate at byte ", chunk.offset + 4, " is ", rate,
          ", expected 1 to 2147483647");
  out.sample_rate = rate;
  bool known = out.code == pcm_code
                   ? out.bits == 8 || out.bits == 16 || out.bits == 24 || out.bits == 32
                   : out.code == float_code && (out.bits == 32 || out.bits == 64);
  require(known, file.name(), ": format ", out.code, " of ", out.bits, " bits at byte ",
          chunk.offset, ", expected PCM (1) of 8, 16, 24 or 32 bits or IEEE float (3) of 32 or 64");
  require(out.channels >= 1, file.name(), ": no channels, at byte ", chunk.offset + 2);
  int frame = file.u16(chunk.offset + 12);
  require(frame == out.frame_bytes(), file.name(), ": the frame size at byte ", chunk.offset + 12,
          " is ", frame, " bytes, expected ", out.frame_bytes(), " for ", out.channels,
          " channels of ", out.bits, " bits");
  return out;
}

template <class T>
T load(const std::byte* from) {
  static_assert(std::endian::native == std::endian::little, "the format is little-endian");
  T out;
  std::memcpy(&out, from, sizeof(T));
  return out;
}

float load_24_bits(const std::byte* from) {
  auto b = [&](int i) { return std::to_integer<std::uint32_t>(from[i]); };
  // Into the upper bytes, so that the sign is where it belongs.
  std::int32_t value = b(0) << 8 | b(1) << 16 | b(2) << 24;
  return value * 0x1p-31f;
}

template <class Load>
void convert(std::span<const std::byte> bytes, std::span<float> out, Load load_one) {
  std::size_t width = out.empty() ? 0 : bytes.size() / out.size();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_one(bytes.data() + i * width);
}

void convert_samples(const Format& format, std::span<const std::byte> bytes, std::span<float> out) {
  using B = const std::byte*;
  if (format.code == float_code && format.bits == 32)
    convert(bytes, out, [](B b) { return load<float>(b); });
  else if (format.code == float_code)
    convert(bytes, out, [](B b) { return static_cast<float>(load<double>(b)); });
  else if (format.bits == 8)
    convert(bytes, out, [](B b) { return (std::to_integer<int>(*b) - 128) * 0x1p-7f; });
  else if (format.bits == 16)
    convert(bytes, out, [](B b) { return (load<std::int16_t>(b)) * 0x1p-15f; });
  else if (format.bits == 24)
    convert(bytes, out, load_24_bits);
  else
    convert(bytes, out, [](B b) { return (load<std::int32_t>(b)) * 0x1p-31f; });
}

void append_bytes(std::vector<std::byte>& out, const void* data, std::size_t size) {
  std::size_t end = out.size();
  out.resize(end + size);  // g++ 12 warns about insert() here, wrongly
  std::memcpy(out.data() + end, data, size);
}

void append(std::vector<std::byte>& out, std::string_view text) {
  append_bytes(out, text.data(), text.size());
}

template <class T>
void append_number(std::vector<std::byte>& out, T value) {
  append_bytes(out, &value, sizeof value);
}

std::int16_t to_pcm16(float sample) {
  require(!std::isnan(sample), "write_wav: a sample is not a number");
  return std::lrint(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f));
}

}  // namespace

Wav parse_wav(std::span<const std::byte> bytes, std::string_view name) {
  BinaryView file(bytes, name);
  Chunks chunks = find_chunks(file);
  Format format = read_format(file, chunks.format);
  require(chunks.data.size % format.frame_bytes() == 0, file.name(), ": the `data` chunk at byte ",
          chunks.data.offset, " has ", chunks.data.size, " bytes, not a multiple of the ",
          format.frame_bytes(), " bytes of a frame");
  std::int64_t frames = chunks.data.size / format.frame_bytes();
  Array samples({frames, format.channels}, DType::f32);
  convert_samples(format, file.slice(chunks.data.offset, chunks.data.size), samples.span<float>());
  return {.samples = samples,
          .sample_rate = format.sample_rate,
          .channels = format.channels,
          .bits = format.bits};
}

Wav read_wav(const std::string& path) {
  std::string content = read_file(path);
  return parse_wav(std::as_bytes(std::span(content)), path);
}

std::vector<std::byte> encode_wav(const Array& samples, const WavOptions& options) {
  int rank = samples.shape().rank();
  require(samples.defined() && samples.dtype() == DType::f32 && (rank == 1 || rank == 2),
          "write_wav: expected samples f32[frames, channels] or f32[frames], got ", samples.type());
  std::int64_t channels = rank == 2 ? samples.shape()[1] : 1;
  require(options.sample_rate >= 1, "write_wav: sample_rate must be at least 1, got ",
          options.sample_rate);
  bool pcm = options.encoding == WavEncoding::pcm16;
  std::int64_t frame_bytes = channels * (pcm ? 2 : 4);
  require(channels >= 1 && frame_bytes <= 65535, "write_wav: ", channels,
          " channels, expected 1 to ", 65535 / (pcm ? 2 : 4));
  std::int64_t data_bytes = samples.elements() * (pcm ? 2 : 4);
  require(data_bytes <= 0xffffffffLL - 36, "write_wav: ", data_bytes,
          " bytes of samples, more than the 4 GiB of a WAV file; write several");

  std::vector<std::byte> out;
  out.reserve(44 + data_bytes);
  append(out, "RIFF");
  append_number(out, static_cast<std::uint32_t>(36 + data_bytes));
  append(out, "WAVEfmt ");
  append_number(out, std::uint32_t{16});
  append_number(out, static_cast<std::uint16_t>(pcm ? pcm_code : float_code));
  append_number(out, static_cast<std::uint16_t>(channels));
  append_number(out, static_cast<std::uint32_t>(options.sample_rate));
  append_number(out, static_cast<std::uint32_t>(options.sample_rate * frame_bytes));
  append_number(out, static_cast<std::uint16_t>(frame_bytes));
  append_number(out, static_cast<std::uint16_t>(pcm ? 16 : 32));
  append(out, "data");
  append_number(out, static_cast<std::uint32_t>(data_bytes));
  for (float sample : samples.span<float>())
    pcm ? append_number(out, to_pcm16(sample)) : append_number(out, sample);
  return out;
}

void write_wav(const std::string& path, const Array& samples, const WavOptions& options) {
  std::vector<std::byte> bytes = encode_wav(samples, options);
  std::span<const std::byte> part(bytes);
  write_file_atomically(path, {&part, 1});
}

}  // namespace belfry::data
