#include "belfry/data/formats/wav.h"

#include "belfry/data/sources/media.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WavFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const Array& samples, int rate = 8000) const {
    return files_.write(
        name, encode_wav(samples, {.sample_rate = rate, .encoding = WavEncoding::float32}));
  }
  SourceFiles files_;
};

Features only_element(const Dataset& dataset) {
  InputStreamPtr stream = open(dataset);
  Features element, behind;
  EXPECT_TRUE(stream->next(element));
  EXPECT_FALSE(stream->next(behind));
  return element;
}

// Two channels that differ; their mean is 0.5, 1, 1.5, ...
Array stereo(std::int64_t frames) {
  Array out({frames, 2}, DType::f32);
  auto samples = out.span<float>();
  for (std::size_t i = 0; i < samples.size(); i += 2) {
    samples[i] = static_cast<float>(i) + 1;
    samples[i + 1] = -static_cast<float>(i) / 2;
  }
  return out;
}

Array mean_of(const Array& stereo) {
  Array out(Shape{stereo.shape()[0]}, DType::f32);
  for (std::int64_t i = 0; i < out.elements(); ++i)
    out.span<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>((stereo.at(2 * i) + stereo.at(2 * i + 1)) / 2);
  return out;
}

TEST_F(WavFiles, YieldSamples) {
  Array samples = stereo(5);
  std::string path = write("a.wav", samples, 11'025);
  Features element = only_element(wav({path}));
  EXPECT_EQ(to_string(signature_of(element)),
            concat("audio f32[5, 2], sample_rate i64[], path u8[", path.size(), "]"));
  EXPECT_TRUE(identical(element.at("audio"), samples));
  EXPECT_EQ(element.at("sample_rate").item(), 11'025);
  EXPECT_EQ(text_of(element.at("path")), path);
}

TEST_F(WavFiles, YieldSpectrograms) {
  Array samples = stereo(40), one = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {8, 1});
  SpectrogramOptions options{.frame_length = 8, .frame_step = 4};
  Dataset data = wav({write("a.wav", samples)}, {.spectrogram = options});
  Array frames = only_element(data).at("audio");
  EXPECT_EQ(to_string(frames.type()), "f32[9, 5]");
  EXPECT_TRUE(identical(frames, spectrogram(mean_of(samples), options)));
  frames = only_element(wav({write("b.wav", one)}, {.spectrogram = options})).at("audio");
  EXPECT_TRUE(identical(frames, spectrogram(one, options)));
}

TEST_F(WavFiles, YieldLogMelSpectrograms) {
  Array samples = stereo(100);
  LogMelOptions options{
      .sample_rate = 8000, .mels = 6, .spectrogram = {.frame_length = 64, .frame_step = 12}};
  std::string path = write("a.wav", samples), other = write("b.wav", samples, 16'000);
  Array bands = only_element(wav({path}, {.log_mel = options})).at("audio");
  EXPECT_EQ(to_string(bands.type()), "f32[4, 6]");
  EXPECT_TRUE(identical(bands, log_mel(mean_of(samples), options)));
  EXPECT_EQ(strings(wav({other, path}, {.log_mel = options}), "path"),
            (Words{"error: " + other
                       + ": the sample rate is 16000, log_mel is set up for 8000 (at element 0, "
                         "epoch 0, of "
                       + other + ")",
                   path}));
}

TEST_F(WavFiles, ThatCannotBeReadAreOneErrorEach) {
  std::string a = write("a.wav", stereo(3)), bad = files_.write("bad.wav", "no sound"),
              gone = files_ / "gone.wav", b = write("b.wav", stereo(4));
  for (int workers : {1, 3}) {
    Dataset data = wav({a, bad, gone, b}, {.workers = workers});
    EXPECT_EQ(data.cardinality(), 4);
    EXPECT_TRUE(data.info().random_access);
    EXPECT_THAT(strings(data, "path"),
                ElementsAre(a, StartsWith("error: " + bad), HasSubstr(gone), b));
    EXPECT_EQ(words_of_shard(data, 2, 1, "path").size(), 2u);
    expect_resumes(data | shuffle(4) | repeat(2), 60, 25, "audio");
  }
  EXPECT_EQ(strings(wav({a, bad, gone, b}) | skip(3), "path"), Words{b});
}

TEST_F(WavFiles, YieldOneKindOfFeatures) {
  EXPECT_EQ(error_of([] {
              wav({"a.wav"}, {.spectrogram = SpectrogramOptions{},
                              .log_mel = LogMelOptions{.sample_rate = 1}});
            }),
            "wav: both a spectrogram and log_mel are asked for; choose one");
  EXPECT_EQ(error_of([] { wav({}); }), "wav: there are no files");
}

}  // namespace
}  // namespace belfry::data
