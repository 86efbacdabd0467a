#include "belfry/data/formats/wav.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using namespace std::string_literals;

std::string le(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
  return out;
}

std::string chunk(const std::string& id, const std::string& content) {
  return id + le(content.size(), 4) + content + (content.size() % 2 ? "\xee" : "");
}

std::string riff(const std::string& chunks) {
  return "RIFF" + le(4 + chunks.size(), 4) + "WAVE" + chunks;
}

std::string format(int code, int channels, int rate, int bits) {
  int frame = channels * bits / 8;
  return chunk("fmt ",
               le(static_cast<unsigned>(code), 2) + le(static_cast<unsigned>(channels), 2)
                   + le(static_cast<unsigned>(rate), 4) + le(static_cast<unsigned>(rate * frame), 4)
                   + le(static_cast<unsigned>(frame), 2) + le(static_cast<unsigned>(bits), 2));
}

Wav parse(const std::string& bytes) { return parse_wav(std::as_bytes(std::span(bytes)), "a.wav"); }

std::vector<float> samples(const Wav& wav) {
  auto span = wav.samples.span<float>();
  return {span.begin(), span.end()};
}

std::vector<float> samples(int code, int bits, const std::string& data) {
  return samples(parse(riff(format(code, 1, 8000, bits) + chunk("data", data))));
}

std::string error(const std::string& bytes) {
  return error_of([&] { parse(bytes); });
}

TEST(Wav, ScalesWholeNumbers) {
  EXPECT_THAT(samples(1, 8, "\x00\x80\xff\x7f"s), ElementsAre(-1, 0, 127 / 128.0f, -1 / 128.0f));
  EXPECT_THAT(samples(1, 16, "\x00\x80\x00\x00\xff\x7f\xff\xff"s),
              ElementsAre(-1, 0, 32767 / 32768.0f, -1 / 32768.0f));
  EXPECT_THAT(samples(1, 24, "\x00\x00\x80\x00\x00\x00\xff\xff\x7f\xff\xff\xff\x56\x34\x12"s),
              ElementsAre(-1, 0, 8388607 / 8388608.0f, -1 / 8388608.0f, 0x123456 / 8388608.0f));
  EXPECT_THAT(samples(1, 32, "\x00\x00\x00\x80\x00\x00\x00\x40\xff\xff\xff\x7f"s),
              ElementsAre(-1, 0.5, 1));
}

TEST(Wav, KeepsFloats) {
  EXPECT_THAT(samples(3, 32, le(0x3fc00000, 4) + le(0xbdcccccd, 4)), ElementsAre(1.5f, -0.1f));
  EXPECT_THAT(samples(3, 64, le(0x3ff8000000000000, 8) + le(0xbfb999999999999a, 8)),
              ElementsAre(1.5f, -0.1f));
}

TEST(Wav, InterleavedChannelsAreTheLastAxis) {
  Wav wav = parse(
      riff(format(1, 2, 44100, 16) + chunk("data", le(1, 2) + le(2, 2) + le(3, 2) + le(4, 2))));
  EXPECT_EQ(wav.samples.shape(), Shape({2, 2}));
  EXPECT_EQ(wav.sample_rate, 44100);
  EXPECT_EQ(wav.channels, 2);
  EXPECT_EQ(wav.bits, 16);
  EXPECT_EQ(wav.samples.at(2) * 32768, 3);
}

TEST(Wav, ReadsTheExtensibleFormat) {
  std::string guid = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"s;
  auto file = [&](int code, int bits, const std::string& tail, const std::string& data) {
    std::string basic = format(0xfffe, 1, 48000, bits).substr(8);
    return riff(chunk("fmt ", basic + le(22, 2) + le(20, 2) + le(4, 4)
                                  + le(static_cast<unsigned>(code), 2) + tail)
                + chunk("data", data));
  };
  EXPECT_THAT(samples(parse(file(1, 24, guid, "\x00\x00\x40"s))), ElementsAre(0.5f));
  EXPECT_THAT(samples(parse(file(3, 32, guid, le(0x3fc00000, 4)))), ElementsAre(1.5f));
  EXPECT_EQ(error(file(1, 24, "x" + guid.substr(1), "\x00\x00\x40"s)),
            "a.wav: the sub-format at byte 44 is neither PCM nor IEEE float");
  EXPECT_EQ(error(file(6, 32, guid, "1234")),
            "a.wav: format 6 of 32 bits at byte 20, expected PCM (1) of 8, 16, 24 or 32 bits or "
            "IEEE float (3) of 32 or 64");
  EXPECT_EQ(error(riff(format(0xfffe, 1, 48000, 16) + chunk("data", "12"))),
            "a.wav: the extensible `fmt ` chunk at byte 20 has 16 bytes, expected at least 40");
}

TEST(Wav, ChunksComeInAnyOrderAndOthersAreSkipped) {
  std::string list = chunk("LIST", "odd"), data = chunk("data", "\x80\xc0\x40"s);
  std::string fmt = format(1, 1, 8000, 8);
  for (const std::string& chunks :
       {fmt + data, data + fmt, list + fmt + list + data + list, data + list + fmt,
        fmt + data.substr(0, data.size() - 1),  // no padding at the end
        fmt + data + "trailing bytes that are no chunk"})
    EXPECT_THAT(samples(parse(riff(chunks))), ElementsAre(0, 0.5f, -0.5f));
  std::string wrong_length = riff(fmt + data);
  wrong_length.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(samples(parse(wrong_length)), ElementsAre(0, 0.5f, -0.5f));
  EXPECT_EQ(parse(riff(fmt + chunk("data", ""))).samples.shape(), Shape({0, 1}));
}

TEST(Wav, SaysWhatIsWrongWithAFile) {
  std::string fmt = format(1, 2, 8000, 16);
  EXPECT_EQ(error(""), "a.wav: not a WAV file: it does not begin with RIFF....WAVE");
  EXPECT_EQ(error("RIFF1234WEBP"), "a.wav: not a WAV file: it does not begin with RIFF....WAVE");
  EXPECT_EQ(error(riff(fmt)), "a.wav: no `data` chunk before the end at byte 36");
  EXPECT_EQ(error(riff(chunk("data", "1234"))), "a.wav: no `fmt ` chunk before the end at byte 24");
  EXPECT_EQ(error(riff(fmt + fmt)), "a.wav: a second `fmt ` or `data` chunk at byte 36");
  EXPECT_EQ(error(riff(fmt + chunk("data", "123456"))),
            "a.wav: the `data` chunk at byte 44 has 6 bytes, not a multiple of the 4 bytes of a "
            "frame");
  for (std::uint64_t size : {0xffffffffu, 9u})
    EXPECT_EQ(error(riff(fmt + "data" + le(size, 4) + "12345678")),
              concat("a.wav: the chunk at byte 36 promises ", size,
                     " bytes but 8 are left; the file is cut off, or was streamed and never given "
                     "its true length"));
  EXPECT_EQ(error(riff(fmt + "dat")),
            "a.wav: truncated: 4 bytes are expected at byte 40 but the data end at byte 39");
  EXPECT_EQ(error(riff(chunk("fmt ", "12345678") + chunk("data", ""))),
            "a.wav: the `fmt ` chunk at byte 20 has 8 bytes, expected at least 16");
}

TEST(Wav, SaysWhichFormatItCannotRead) {
  auto error_with = [](const std::string& fmt) { return error(riff(fmt + chunk("data", ""))); };
  for (auto [code, bits] : {std::pair(1, 12), {1, 64}, {3, 16}, {2, 16}, {7, 8}})
    EXPECT_EQ(error_with(format(code, 1, 8000, bits)),
              concat("a.wav: format ", code, " of ", bits,
                     " bits at byte 20, expected PCM (1) of "
                     "8, 16, 24 or 32 bits or IEEE float (3) of 32 or 64"));
  EXPECT_EQ(error_with(format(1, 0, 8000, 16)), "a.wav: no channels, at byte 22");
  EXPECT_EQ(error_with(format(1, 1, 0, 16)),
            "a.wav: the sample rate at byte 24 is 0, expected 1 to 2147483647");
  std::string wrong = format(1, 2, 8000, 16);
  wrong[8 + 12] = 3;
  EXPECT_EQ(error_with(wrong),
            "a.wav: the frame size at byte 32 is 3 bytes, expected 4 for 2 "
            "channels of 16 bits");
}

TEST(Wav, EveryTruncationIsAnError) {
  std::string whole = riff(format(1, 1, 8000, 16) + chunk("data", std::string(20, 'x')));
  ASSERT_EQ(error(whole), "no error");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error(whole.substr(0, length)), "no error") << length;
}

TEST(WriteWav, WritesWhatOthersRead) {
  Array two = Array::of<float>({0, 0.5f, -1, 2, -0.25f, 1e-5f}, {3, 2});
  std::vector<std::byte> bytes = encode_wav(two, {.sample_rate = 16000});
  std::string expected = riff(format(1, 2, 16000, 16)
                              + chunk("data", le(0, 2) + le(0x4000, 2) + le(0x8000, 2)
                                                  + le(0x7fff, 2) + le(0xe000, 2) + le(0, 2)));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(WriteWav, ReadsBackWhatItWrote) {
  TemporaryFolder folder;
  Array wave = Array::of<float>({0.1f, -0.9f, 3.5f});
  write_wav(folder / "f.wav", wave, {.sample_rate = 8000, .encoding = WavEncoding::float32});
  Wav back = read_wav(folder / "f.wav");
  EXPECT_TRUE(identical(back.samples, wave.reshape({3, 1})));
  EXPECT_EQ(back.bits, 32);
  write_wav(folder / "p.wav", wave, {.sample_rate = 8000});
  back = read_wav(folder / "p.wav");
  EXPECT_EQ(back.samples.at(0), std::round(0.1f * 32768) / 32768);
  EXPECT_EQ(back.samples.at(2), 32767 / 32768.0);
  EXPECT_EQ(back.sample_rate, 8000);
}

TEST(WriteWav, RefusesWhatAFileCannotHold) {
  auto error = [](const Array& samples, WavOptions options) {
    return error_of([&] { encode_wav(samples, options); });
  };
  Array one = Array::of<float>({1});
  EXPECT_EQ(error(one, {.sample_rate = 0}), "write_wav: sample_rate must be at least 1, got 0");
  EXPECT_EQ(error(one.cast(DType::f64), {.sample_rate = 1}),
            "write_wav: expected samples f32[frames, channels] or f32[frames], got f64[1]");
  EXPECT_EQ(error(Array::zeros({0, 0}), {.sample_rate = 1}),
            "write_wav: 0 channels, expected 1 to 32767");
  EXPECT_EQ(error(Array::zeros({0, 16384}), {.sample_rate = 1, .encoding = WavEncoding::float32}),
            "write_wav: 16384 channels, expected 1 to 16383");
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error(Array::of<float>({nan}), {.sample_rate = 1}),
            "write_wav: a sample is not a number");
}

TEST(Wav, ReadsSpokenDigits) {
  const char* given = std::getenv("BELFRY_DATA");
  std::string path = (given ? std::string(given) : BELFRY_SOURCE_DIR "/../shared/data")
                     + "/speech-digits/0_george_0.wav";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set BELFRY_DATA";
  Wav wav = read_wav(path);
  EXPECT_EQ(wav.sample_rate, 8000);
  ASSERT_EQ(wav.samples.shape(), Shape({2384, 1}));
  double sum = 0;
  for (float x : wav.samples.span<float>()) sum += x;
  // Read with another reader.
  EXPECT_EQ(sum * 32768, 4297);
  EXPECT_EQ(wav.samples.at(0) * 32768, -1489);
  EXPECT_EQ(wav.samples.at(2382) * 32768, -1110);
}

}  // namespace
}  // namespace belfry::data
