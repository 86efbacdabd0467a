// Residual networks on a folder of images; without --data_dir, on numbers that cost nothing to
// make, to see how fast a step is.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "common/program.h"

using namespace belfry;

struct Input {
  Dataset train, test;
  std::int64_t classes;
};

// One batch again and again.
Input made_up(std::int64_t rows, std::int64_t size, std::uint64_t seed) {
  std::int64_t classes = size < 64 ? 10 : 1000;
  Array image({rows, size, size, 3}, DType::f32), label({rows}, DType::i64);
  PhiloxStream random(philox_key(seed, "images"));
  for (float& x : image.span<float>()) x = random.uniform(-1, 1);
  for (std::int64_t& y : label.span<std::int64_t>()) y = random.below(classes);
  Features batch{{"image", image}, {"label", label}};
  Dataset same = data::generator([batch] { return batch; });
  return {same, same, classes};
}

// Images in train/<class>/ and test/<class>/ (or val/<class>/). Small ones, all of this size, are
// shifted and mirrored; of larger ones training takes a random part, and the test the middle.
Input from_folders(const examples::Options& o, std::int64_t size) {
  std::string train = o.data_dir + "/train", test = o.data_dir + "/test";
  if (!std::filesystem::is_directory(test)) test = o.data_dir + "/val";
  auto scaled =
      data::normalize({.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}});
  std::int64_t classes = data::class_names(train).size();
  auto shuffled = [&](Dataset images) {
    return images | data::shuffle(1 << 24, {.seed = o.run.seed}) | data::repeat();
  };
  if (size < 64) {
    auto change = data::compose({data::pad_and_crop(), data::flip_horizontal(), scaled});
    return {shuffled(data::image_folder(train))
                | data::map(change, {.workers = data::autotune, .seed = o.run.seed})
                | data::batch(o.batch_size) | data::prefetch(),
            data::image_folder(test) | data::map(scaled) | data::batch(100), classes};
  }
  auto middle = data::compose({data::resize_short_side({.size = size * 8 / 7}),
                               data::center_crop({.height = size, .width = size}), scaled});
  return {shuffled(data::image_folder(train, {.decode = false}))
              | data::photograph_batches(o.batch_size, {.size = size, .seed = o.run.seed})
              | data::prefetch(),
          data::image_folder(test) | data::map(middle, {.workers = data::autotune})
              | data::batch(o.batch_size),
          classes};
}

// The model of that name, at a rate that rises for a twentieth of the steps and falls to 0.
ModelFn scheduled(const examples::Options& o, std::int64_t classes) {
  std::int64_t rising = std::max<std::int64_t>(1, o.max_steps / 20);
  Schedule rate =
      warmup(cosine_decay({.initial = o.number("learning_rate"),
                           .decay_steps = std::max<std::int64_t>(1, o.max_steps - rising)}),
             {.steps = rising});
  ModelFn model = models::make(o.words("model"), concat(R"({"classes": )", classes, "}"));
  return [=](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = model(s, batch, mode);
    spec.train =
        momentum({.learning_rate = rate, .momentum = 0.9, .nesterov = true, .weight_decay = 5e-4});
    return spec;
  };
}

// torchvision's weights of the same model; the head keeps its first values where there are other
// classes.
std::optional<WarmStart> warm_start(const examples::Options& o) {
  const std::string &from = o.words("warm_start"), &model = o.words("model");
  if (from.empty()) return std::nullopt;
  require(model.starts_with("resnet"), "warm_start: there are no names for `", model, "`");
  return WarmStart{.from = from,
                   .names = models::torchvision_resnet_names(std::stoi(model.substr(6))),
                   .strict = false};
}

struct MeanLoss final : Hook {
  double sum = 0;
  std::int64_t steps = 0;
  void after_step(const StepResult& result) override { sum += result.loss, ++steps; }
};

// Trains in ten parts, and says after each what has been learnt.
examples::Results learn(Estimator& classifier, const Input& input, TrainOptions training) {
  TrainResult trained;
  EvalResult tested;
  double examples = 0, seconds = 0;
  std::int64_t last = *training.max_steps;
  training.hooks.push_back(nullptr);
  for (int tenth = 1; tenth <= 10 && trained.outcome != Outcome::stopped; ++tenth) {
    training.max_steps = std::max<std::int64_t>(1, last * tenth / 10);
    if (*training.max_steps <= trained.global_step && tenth < 10) continue;
    auto loss = std::make_shared<MeanLoss>();
    training.hooks.back() = loss;
    trained = classifier.train(input.train, training);
    examples += trained.examples, seconds += trained.seconds;
    tested = classifier.evaluate(input.test);
    if (loss->steps > 0)
      log_info("step ", trained.global_step, ": loss ", text(loss->sum / loss->steps),
               " in training, test loss ", text(tested.at("loss")), ", test accuracy ",
               text(tested.at("accuracy")));
  }
  trained.examples_per_second = seconds > 0 ? examples / seconds : 0;
  return examples::report(trained, tested);
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about =
          "A residual network learns from folders of images; without any, it shows how fast a step "
          "is.",
      .data = "folders train and test, or val, with one of images a class",
      .max_steps = 100,
      .batch_size = 64,
      .own = {{"model", {"resnet18", "Name of a ready model"}},
              {"image_size", {"32", "Side of the images, in pixels"}},
              {"learning_rate", {"0.1", "The highest, after warming up"}},
              {"warm_start", {"", "torchvision's weights of the model, a safetensors file"}}}};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    std::int64_t size = o.whole_number("image_size");
    require(size > 0, "image_size must be above 0, got ", size);
    Input input =
        o.data_dir.empty() ? made_up(o.batch_size, size, o.run.seed) : from_folders(o, size);
    Estimator classifier({scheduled(o, input.classes), o.model_dir, o.run, warm_start(o)});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, classifier, input.train, training);
    if (o.summary) return examples::print_summary(classifier, input.train);
    if (!o.data_dir.empty()) return learn(classifier, input, training);
    auto trained = classifier.train(input.train, training);
    return examples::Results{{"loss", trained.loss},
                             {"global_step", static_cast<double>(trained.global_step)},
                             {"examples_per_second", trained.examples_per_second}};
  });
}
