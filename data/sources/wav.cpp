#include "belfry/data/formats/wav.h"

#include "belfry/data/sources/files.h"
#include "belfry/data/sources/media.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// The mean of the channels, [frames].
Array mono(const Array& samples) {
  std::int64_t frames = samples.shape()[0], channels = samples.shape()[1];
  if (channels == 1) return samples.reshape({frames});
  Array out(Shape{frames}, DType::f32);
  auto from = samples.span<float>();
  auto to = out.span<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    float sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) sum += from[i * channels + c];
    to[i] = sum / channels;
  }
  return out;
}

Array features_of(const Wav& wav, const WavFilesOptions& options, const std::string& path) {
  if (options.spectrogram) return spectrogram(mono(wav.samples), *options.spectrogram);
  if (!options.log_mel) return wav.samples;
  require(wav.sample_rate == options.log_mel->sample_rate, path, ": the sample rate is ",
          wav.sample_rate, ", log_mel is set up for ", options.log_mel->sample_rate);
  return log_mel(mono(wav.samples), *options.log_mel);
}

}  // namespace

Dataset wav(std::vector<std::string> paths, WavFilesOptions options) {
  require(!options.spectrogram || !options.log_mel,
          "wav: both a spectrogram and log_mel are asked for; choose one");
  require(!paths.empty(), "wav: there are no files");
  auto read = [=](Features in) {
    std::string path = text_of(in.at("path"));
    Wav sound = read_wav(path);
    return Features{{"audio", features_of(sound, options, path)},
                    {"sample_rate", Array::scalar(std::int64_t{sound.sample_rate})},
                    {"path", in.at("path")}};
  };
  return files(std::move(paths)) | map(read, {.workers = options.workers});
}

}  // namespace belfry::data
