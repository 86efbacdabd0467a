// Spoken digits, spelled letter by letter: sound, to log-mel bands, to a CNN trained with CTC.
// Without --data_dir, on made-up words with a tone for each letter.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/program.h"

using namespace belfry;

constexpr int sample_rate = 8000;
constexpr std::array<std::string_view, 10> words = {"zero", "one", "two",   "three", "four",
                                                    "five", "six", "seven", "eight", "nine"};

// ---- sources: {"audio" f32 [samples], "digit" i64 []}

// The facts that a file's name tells.
struct Recording {
  std::int64_t digit = 0;
  int take = 0;
};

Recording recording_of(const std::string& path) {
  static const std::regex form("([0-9])_[^_]+_([0-9]{1,6})\\.wav");
  std::string name = path.substr(path.rfind('/') + 1);
  std::smatch parts;
  require(std::regex_match(name, parts, form), path, ": expected <digit>_<speaker>_<take>.wav");
  return {name[0] - '0', std::stoi(parts[2])};
}

Features named(Features recording) {
  std::string path = data::text_of(recording.at("path"));
  Array audio = recording.at("audio");
  require(recording.at("sample_rate").item() == sample_rate && audio.shape()[1] == 1, path,
          ": expected one channel at ", sample_rate, " Hz, got ", audio.shape()[1], " at ",
          recording.at("sample_rate").item());
  require(audio.elements() > 0, path, ": there is no sound in it");
  return {{"audio", audio.reshape({audio.elements()})},
          {"digit", Array::scalar(recording_of(path).digit)}};
}

// Takes 0 to 4 of each speaker are held out.
Dataset recordings(const std::string& folder, data::Split split) {
  std::vector<std::string> paths = data::list_files(folder + "/*.wav");
  std::erase_if(paths, [&](const std::string& path) {
    return (recording_of(path).take < 5) != (split == data::Split::test);
  });
  return data::wav(paths) | data::map(named);
}

Features tones(Features number, PhiloxStream& random) {
  std::int64_t digit = number.at("value").span<std::int64_t>()[0] % 10;
  std::vector<float> audio;
  for (char letter : words[digit]) {
    double turn = 6.283 * (200 + 120 * (letter - 'a')) / sample_rate;
    int samples = 480 + static_cast<int>(random.below(480));
    for (int i = 0; i < samples; ++i) {
      double loudness = std::sin(3.1416 * i / samples);
      audio.push_back(
          static_cast<float>(0.3 * loudness * std::sin(turn * i) + 0.01 * random.normal()));
    }
  }
  Array samples = Array::of(std::span<const float>(audio), {std::ssize(audio)});
  return {{"audio", samples}, {"digit", Array::scalar(digit)}};
}

Dataset sounds(const examples::Options& o, data::Split split) {
  if (!o.data_dir.empty()) return recordings(o.data_dir, split);
  bool train = split == data::Split::train;
  return data::range(train ? 400 : 100) | data::map(tones, {.seed = train ? 1u : 2u});
}

// ---- from sound to what the network takes

// Silence before and behind, noise, another loudness and speed.
Features changed(Features in, PhiloxStream& random) {
  auto from = in.at("audio").span<float>();
  float speed = random.uniform(0.85f, 1.2f), gain = random.uniform(0.5f, 1.5f);
  float noise = std::pow(10.0f, random.uniform(-4, -2.5f));
  std::size_t before = random.below(800), behind = random.below(800);
  auto length = static_cast<std::size_t>((from.size() - 1) / speed);
  std::vector<float> to(before + length + behind);
  for (float& x : to) x = noise * static_cast<float>(random.normal());
  for (std::size_t i = 0; i < length; ++i) {
    float position = i * speed;
    auto left = static_cast<std::size_t>(position);
    to[before + i] += gain * std::lerp(from[left], from[left + 1], position - left);
  }
  in.at("audio") = Array::of(std::span<const float>(to), {std::ssize(to)});
  return in;
}

// {"audio" f32 [frames, 40], a frame each 10 ms, mean 0 and variance 1; "label" i64 [letters], 1
// for "a"}. Some silence around it gives every recording frames enough for its letters.
Features spelled(Features in) {
  auto samples = in.at("audio").span<float>();
  std::vector<float> padded(400);
  padded.insert(padded.end(), samples.begin(), samples.end());
  padded.resize(padded.size() + 400);
  Array bands = data::log_mel(Array::of(std::span<const float>(padded), {std::ssize(padded)}),
                              {.sample_rate = sample_rate,
                               .mels = 40,
                               .low_hz = 60,
                               .offset = 1e-4f,
                               .spectrogram = {.frame_length = 200, .frame_step = 80}});
  auto x = bands.span<float>();
  double sum = 0, squares = 0, count = x.size();
  for (float v : x) sum += v, squares += double{v} * v;
  double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean) + 1e-3;
  for (float& v : x) v = static_cast<float>((v - mean) / deviation);
  std::vector<std::int64_t> letters;
  for (char letter : words[in.at("digit").item()]) letters.push_back(letter - 'a' + 1);
  return {{"audio", bands},
          {"label", Array::of(std::span<const std::int64_t>(letters), {std::ssize(letters)})}};
}

// Few sizes, as each of a batch makes a plan of its own.
const data::PaddedBatchOptions padding{
    .pad_to = {{"label", {5}}},
    .multiple_of = {{"audio", 32}},
    .lengths = {{"audio", "audio_length"}, {"label", "label_length"}}};

// Batches of about the same length, so that little of them is padding.
data::Transform by_length(std::int64_t size) {
  return data::bucket_by_length(
      "audio",
      {.boundaries = {65, 97, 129}, .batch_sizes = {size, size, size, size}, .padded = padding});
}

// ---- what comes out

std::string text_of(std::span<const std::int64_t> letters) {
  std::string out;
  for (std::int64_t letter : letters)
    if (letter >= 1) out += 'a' + letter - 1;
  return out;
}

// Logs the words heard in some recordings, by greedy decoding and by beam search.
void show(Estimator& recognizer, const Dataset& some) {
  InputStreamPtr spoken = some.open();
  Features truth;
  for (const Features& heard : recognizer.predict(some)) {
    spoken->next(truth);
    auto frames = static_cast<std::int64_t>(heard.at("logits_length").item());
    std::vector<std::string> beam;
    for (const auto& path :
         models::ctc_beam_search(heard.at("logits").rows(0, frames), {.paths = 3}))
      beam.push_back(
          concat(text_of(path.labels), " ", std::round(100 * std::exp(path.log_probability)), "%"));
    log_info(text_of(truth.at("label").span<std::int64_t>()), ": greedy ",
             text_of(heard.at("decoded").span<std::int64_t>()), "; beam ", join(beam, ", "));
  }
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "Spoken digits are spelled letter by letter, by a network trained with CTC.",
      .data = "WAV files of the Free Spoken Digit Dataset",
      .max_steps = 6000,
      .batch_size = 16};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset train = sounds(o, data::Split::train) | data::shuffle(1000, {.seed = o.run.seed})
                    | data::repeat() | data::map(changed, {.workers = data::autotune})
                    | data::map(spelled, {.workers = data::autotune}) | by_length(o.batch_size)
                    | data::prefetch();
    Dataset test = sounds(o, data::Split::test) | data::map(spelled);
    Schedule rate = cosine_decay({.initial = 1.5e-3, .decay_steps = o.max_steps});
    Estimator recognizer(
        {.model_fn = models::acoustic({.optimizer = adam({.learning_rate = rate})}),
         .model_dir = o.model_dir,
         .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, recognizer, train, training);
    if (o.summary) return examples::print_summary(recognizer, train);
    auto trained = recognizer.train(train, training);
    EvalResult result = recognizer.evaluate(test | data::padded_batch(50, padding));
    show(recognizer, test | data::shard(43, 0) | data::padded_batch(1, padding));
    return examples::Results{{"words_right", 1 - result.at("word_error_rate")},
                             {"character_error_rate", result.at("character_error_rate")},
                             {"loss", result.at("loss")},
                             {"global_step", result.at("global_step")},
                             {"examples_per_second", trained.examples_per_second}};
  });
}
