#include "gpu_models.h"

#include <vector>

#include "belfry/framework/tensor/philox.h"
#include "belfry/models/models.h"

namespace belfry::bench {
namespace {

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
    x = two_convolutions(up, concat({x, skips[level]}, -1), widths[level]);
  }
  Tensor logits = conv3d(s / "out", x, {.filters = 2, .kernel = 1});
  std::int64_t n = logits.shape()[0], voxels = logits.shape().elements() / (2 * n);
  Tensor labels = broadcast_to(reshape(batch["label"], {n, 1}), Shape{n, voxels});
  return {.loss = mean(sparse_softmax_cross_entropy(reshape(logits, {n, voxels, 2}), labels)),
          .train = sgd({.learning_rate = 0.01})};
}

GpuModel of_images(const std::string& name) {
  if (name == "mlp") return {mlp, {28, 28, 1}};
  if (name == "lenet") return {models::lenet(), {28, 28, 1}};
  if (name == "resnet18") return {models::resnet18(), {32, 32, 3}};
  if (name == "dcgan64") return {gan::gan(gan::dcgan({.size = 64, .channels = 3})), {64, 64, 3}};
  if (name == "unet3d") return {unet3d, {128, 128, 128, 1}, 2};
  require(name == "resnet50", "unknown model ", name);
  return {models::resnet50(), {224, 224, 3}, 1000};
}

}  // namespace

GpuModel gpu_model(const std::string& name) {
  GpuModel out = of_images(name);
  out.model_fn = [of_floats = std::move(out.model_fn)](Scope s, const Batch& batch, Mode mode) {
    Tensor image = cast(batch["image"], DType::f32) * (1 / 255.0);
    return of_floats(s, batch.with("image", image), mode);
  };
  return out;
}

Signature signature_of(const GpuModel& model, std::int64_t n) {
  std::vector<std::int64_t> sizes{n};
  sizes.insert(sizes.end(), model.image.begin(), model.image.end());
  return {{"image", {Shape(sizes), DType::u8}}, {"label", {{n}, DType::i64}}};
}

Features random_batch(const GpuModel& model, std::int64_t n, const AllocateHost& allocate_host) {
  auto pinned = [&](const TensorType& type) {
    if (!allocate_host) return Array(type);
    std::shared_ptr<void> memory = allocate_host(Bytes(type.bytes()));
    return Array(type, memory.get(), memory);
  };
  Signature signature = signature_of(model, n);
  Array image = pinned(signature[0].second), label = pinned(signature[1].second);
  PhiloxStream random(philox_key(1, "batch"));
  for (std::uint8_t& x : image.span<std::uint8_t>())
    x = static_cast<std::uint8_t>(random.below(256));
  for (std::int64_t& y : label.span<std::int64_t>())
    y = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(model.classes)));
  return {{"image", image}, {"label", label}};
}

}  // namespace belfry::bench
