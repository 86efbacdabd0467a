// Steps on a GPU, on a fixed random batch that is copied anew for each: examples per second, and
// the host's share of a step. Prints one line of JSON a round.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "arguments.h"
#include "belfry/framework/tensor/philox.h"
#include "belfry/framework/train/step/session.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

struct Arguments {
  std::string model = "resnet50";
  std::int64_t batch_size = 256;
  int steps = 50, warm_up = 10, rounds = 3;
  RunConfig config = run_config_from_json(R"({"devices": ["cuda:0"], "precision": "bf16"})");
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  auto config = [&](const std::string& json) {
    out.config = run_config_from_json(json, out.config);
  };
  bench::read_options(argc, argv,
                      {{"--model", &out.model},  // mlp, lenet, resnet18, resnet50, unet3d
                       {"--batch_size", &out.batch_size},
                       {"--steps", &out.steps},
                       {"--rounds", &out.rounds},
                       {"--config", config}});  // RunConfig fields in JSON
  return out;
}

// The MNIST net of 784, 512, 512 and 10 units.
EstimatorSpec mlp(Scope s, const Batch& batch, Mode) {
  Tensor x = flatten(batch["image"]);
  x = relu(dense(s / "first", x, {.units = 512}));
  x = relu(dense(s / "second", x, {.units = 512}));
  return {.loss = mean(
              sparse_softmax_cross_entropy(dense(s / "out", x, {.units = 10}), batch["label"])),
          .train = sgd({.learning_rate = 0.01})};
}

Tensor two_convolutions(const Scope& s, Tensor x, std::int64_t filters) {
  for (const char* name : {"first", "second"}) {
    x = conv3d(s / name, x, {.filters = filters, .kernel = 3, .use_bias = false});
    x = relu(batch_norm(s / name / "norm", x, {.training = true}));
  }
  return x;
}

// A 3-D U-Net (Cicek et al., MICCAI 2016) of four levels. All voxels have the volume's label.
EstimatorSpec unet3d(Scope s, const Batch& batch, Mode) {
  constexpr std::int64_t widths[] = {16, 32, 64, 128};
  constexpr int levels = 4;
  std::vector<Tensor> skips;
  Tensor x = two_convolutions(s / "down_0", batch["image"], widths[0]);
  for (int level = 1; level < levels; ++level) {
    skips.push_back(x);
    x = two_convolutions(s / concat("down_", level), max_pool3d(x), widths[level]);
  }
  for (int level = levels - 2; level >= 0; --level) {
    Scope up = s / concat("up_", level);
    x = conv3d_transpose(up, x, {.filters = widths[level], .kernel = 2, .stride = 2});
    x = two_convolutions(up, concat({x, skips[static_cast<std::size_t>(level)]}, -1),
                         widths[level]);
  }
  Tensor logits = conv3d(s / "out", x, {.filters = 2, .kernel = 1});
  std::int64_t n = logits.shape()[0], voxels = logits.shape().elements() / (2 * n);
  Tensor labels = broadcast_to(reshape(batch["label"], {n, 1}), Shape{n, voxels});
  return {.loss = mean(sparse_softmax_cross_entropy(reshape(logits, {n, voxels, 2}), labels)),
          .train = sgd({.learning_rate = 0.01})};
}

struct Subject {
  ModelFn model_fn;
  Shape image;  // of one example
  std::int64_t classes = 10;
};

Subject subject(const std::string& model) {
  if (model == "mlp") return {mlp, {28, 28, 1}};
  if (model == "lenet") return {models::lenet(), {28, 28, 1}};
  if (model == "resnet18") return {models::resnet18(), {32, 32, 3}};
  if (model == "unet3d") return {unet3d, {128, 128, 128, 1}, 2};
  require(model == "resnet50", "unknown model ", model);
  return {models::resnet50(), {224, 224, 3}, 1000};
}

Features random_batch(const Subject& subject, std::int64_t n) {
  std::vector<std::int64_t> sizes{n};
  sizes.insert(sizes.end(), subject.image.begin(), subject.image.end());
  Array image(Shape(std::span<const std::int64_t>(sizes)), DType::f32), label(Shape{n}, DType::i64);
  PhiloxStream random(philox_key(1, "batch"));
  for (float& x : image.span<float>()) x = random.uniform();
  for (std::int64_t& y : label.span<std::int64_t>())
    y = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(subject.classes)));
  return {{"image", image}, {"label", label}};
}

// The loop of train(): one step is under way while the next is prepared.
void run(const Arguments& args) {
  Subject what = subject(args.model);
  Session session(what.model_fn, args.config);
  Features batch = random_batch(what, args.batch_size);
  session.begin_training();
  StepDriver driver(session, Mode::train);
  Replicas& replicas = driver.replicas();
  const Replicas::Started* before = nullptr;
  double host = 0, device = 0;
  auto step = [&] {
    double begun = monotonic_seconds();
    driver.build(batch);
    replicas.prepare();
    replicas.start();
    ++session.state()->step;
    host += monotonic_seconds() - begun;
    if (before) {
      Replicas::collect(*before);
      device += Replicas::times(*before).compute;
    }
    before = &replicas.started();
  };
  for (int i = 0; i < args.warm_up; ++i) step();
  for (int round = 0; round < args.rounds; ++round) {
    host = device = 0;
    double begun = monotonic_seconds();
    for (int i = 0; i < args.steps; ++i) step();
    double seconds = (monotonic_seconds() - begun) / args.steps;
    std::printf(
        "{\"model\": \"%s\", \"batch_size\": %lld, \"precision\": \"%s\", "
        "\"examples_per_second\": %.0f, \"us_per_step\": %.1f, \"us_host\": %.1f, "
        "\"us_device\": %.1f}\n",
        args.model.c_str(), static_cast<long long>(args.batch_size),
        to_string(args.config.precision).c_str(), static_cast<double>(args.batch_size) / seconds,
        seconds * 1e6, host / args.steps * 1e6, device / args.steps * 1e6);
    std::fflush(stdout);
  }
  Replicas::collect(*before);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(belfry::parse(argc, argv)); });
}
