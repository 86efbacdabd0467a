#include "common/digit_gan.h"

#include <belfry/hooks.h>

#include <algorithm>
#include <optional>

namespace belfry::examples {
namespace {

constexpr std::int64_t classifier_steps = 600;

// [28, 28, 1] in 0..1 to [32, 32, 1] in -1..1, as tanh has it.
Features framed(Features digit) {
  Array from = digit.at("image"), to(Shape{32, 32, 1}, DType::f32);
  std::ranges::fill(to.span<float>(), -1.0f);
  for (std::size_t i = 0; i < 28 * 28; ++i)
    to.span<float>()[(i / 28 + 2) * 32 + i % 28 + 2] = 2 * from.span<float>()[i] - 1;
  return {{"image", to}, {"label", digit.at("label")}};
}

Dataset digits(const Options& o, data::Split split) {
  Dataset plain =
      o.data_dir.empty() ? data::drawn_digits({.split = split}) : data::mnist(o.data_dir, split);
  return plain | data::map(framed, {.workers = data::autotune});
}

Dataset training_digits(const Options& o) {
  return digits(o, data::Split::train) | data::shuffle(60'000, {.seed = o.run.seed})
         | data::repeat() | data::batch(o.batch_size) | data::prefetch();
}

// The test set beside digits of the training set.
Dataset digits_to_compare(const Options& o) {
  std::int64_t count = std::min<std::int64_t>(10'000, o.max_steps * o.batch_size);
  return data::zip({{"", digits(o, data::Split::test)}, {"other", digits(o, data::Split::train)}})
         | data::take(count) | data::batch(250) | data::prefetch();
}

// Nothing if its training was stopped.
std::optional<models::Frozen> trained_classifier(const Options& o) {
  ModelFn lenet = models::lenet({.hidden = 128});
  RunConfig run = o.run;
  run.save_checkpoint = Steps(classifier_steps);
  Estimator classifier({.model_fn = lenet,
                        .model_dir = o.model_dir.empty() ? "" : o.model_dir + "/classifier",
                        .run = run});
  TrainResult trained =
      classifier.train(training_digits(o), {.max_steps = std::min(classifier_steps, o.max_steps)});
  if (trained.outcome == Outcome::stopped) return std::nullopt;
  double accuracy = classifier.evaluate(digits_to_compare(o)).at("accuracy");
  log_info("the classifier is right about ", 100 * accuracy, " % of the test set");
  return models::Frozen({.model_fn = lenet, .checkpoint = classifier.model_dir()});
}

// The classifier's judgement of digits that a GAN makes.
NamedMetrics judge(const models::Frozen& classifier, const gan::GanModel& m, const Batch& batch,
                   bool conditional) {
  auto real = classifier(m.real), generated = classifier(m.generated);
  Tensor x = real.at("features"), y = generated.at("features");
  Tensor other = classifier(batch["other/image"]).at("features");
  NamedMetrics metrics{
      {"frechet_distance", gan::frechet_distance(x, y)},
      {"real_frechet_distance", gan::frechet_distance(x, other)},
      {"kernel_distance", gan::kernel_distance(x, y)},
      {"sliced_wasserstein_distance", gan::sliced_wasserstein_distance(m.scope, x, y)},
      {"inception_score",
       gan::inception_score(generated.at("probabilities"), {.probabilities = true})}};
  if (conditional)
    metrics.emplace_back("label_accuracy", accuracy(batch["label"], generated.at("class")));
  return metrics;
}

// For TensorBoard: images in 0..1, and how far apart the discriminator holds them.
std::vector<Summary> show(const gan::GanModel& m, const Batch&) {
  return {image_summary("real", (m.real + 1) / 2),
          image_summary("generated", (m.generated + 1) / 2),
          histogram_summary("logits/real", m.real_logits),
          histogram_summary("logits/generated", m.generated_logits)};
}

// Writes a grid of images [n, 32, 32, 1]. Returns the grid.
Array write_grid(const std::string& path, const Array& images) {
  std::vector<Array> rows;
  for (std::int64_t i = 0; i < images.shape()[0]; ++i) rows.push_back(images.row(i));
  Array grid = data::image_grid(rows, {.columns = 10, .low = -1, .high = 1});
  write_file_atomically(path, data::encode_png(grid));
  return grid;
}

void write_real(const Options& o, const std::string& folder) {
  InputStreamPtr stream = (digits(o, data::Split::test) | data::batch(100)).open();
  Features real;
  stream->next(real);
  write_grid(folder + "/digits-real.png", real.at("image"));
}

// Ten times, the last round among them; fewer for less than ten rounds.
Hooks judge_and_draw(gan::GanEstimator& estimator, const Options& o,
                     const std::shared_ptr<hooks::Report>& page) {
  Array labels(Shape{100}, DType::i64);
  for (std::int64_t i = 0; i < 100; ++i) labels.span<std::int64_t>()[i] = i % 10;
  Steps every((o.max_steps + 9) / 10);
  EvalSpec judging{.input_fn = digits_to_compare(o), .every = every, .metric = "frechet_distance"};
  judging.receive = [page](std::int64_t step, const EvalResult& found) {
    page->add_evaluation(step, found);
  };
  auto write = [page, folder = estimator.model_dir()](std::int64_t step, const Features& drawn) {
    std::string path = concat(folder, "/digits-", step, ".png");
    page->add_images(step, "digits", write_grid(path, drawn.at("generated")));
  };
  return {hooks::validate(estimator, judging),
          hooks::samples(estimator, data::from_arrays({{"label", labels}}) | data::batch(100),
                         {.every = every, .receive = write}),
          hooks::summaries({.of_model = every})};
}

Results results(gan::GanEstimator& estimator, const EvalResult& found, bool conditional) {
  Results out;
  std::vector<std::string> names{"frechet_distance", "real_frechet_distance", "kernel_distance",
                                 "sliced_wasserstein_distance", "inception_score"};
  if (conditional) names.emplace_back("label_accuracy");
  names.insert(names.end(), {"generator_loss", "discriminator_loss"});
  for (const std::string& name : names) out.emplace_back(name, found.at(name));
  for (const char* name : {"generator_step", "discriminator_step"})
    out.emplace_back(name, estimator.variable_value(name).item());
  out.emplace_back("global_step", found.at("global_step"));
  return out;
}

}  // namespace

Results train_digit_gan(const Options& o, DigitGan d) {
  TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
  d.gan.summaries = show;
  if (!o.plan && !o.summary) {
    auto classifier = trained_classifier(o);
    if (!classifier) return {};
    d.gan.metrics = [classifier = *classifier, conditional = d.conditional](const gan::GanModel& m,
                                                                            const Batch& batch) {
      return judge(classifier, m, batch, conditional);
    };
  }
  gan::GanEstimator estimator({.gan = d.gan, .model_dir = o.model_dir, .run = o.run});
  auto page = hooks::report();
  for (auto& hook : judge_and_draw(estimator, o, page)) training.hooks.push_back(std::move(hook));
  training.hooks.push_back(page);
  if (o.plan) return print_plan(o, estimator, training_digits(o), training);
  if (o.summary) return print_summary(estimator, training_digits(o));
  estimator.train(training_digits(o), training);
  write_real(o, estimator.model_dir());
  return results(estimator, estimator.evaluate(digits_to_compare(o)), d.conditional);
}

}  // namespace belfry::examples
