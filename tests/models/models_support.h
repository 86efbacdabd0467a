#pragma once
// Building a model function for random images.

#include <gtest/gtest.h>

#include "../framework/base/temporary_folder.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::models {

/// One thread is enough for small images, and no checkpoint is wanted.
inline RunConfig quiet() {
  RunConfig config;
  config.save_checkpoint = std::nullopt;
  config.threads = 1;
  return config;
}

/// The same batch again and again, or only once.
class OneBatch final : public InputStream {
 public:
  OneBatch(Features batch, bool again) : batch_(std::move(batch)), again_(again) {}
  bool next(Features& batch) override {
    bool left = again_ || !taken_;
    if (left) batch = batch_;
    taken_ = true;
    return left;
  }

 private:
  Features batch_;
  bool again_, taken_ = false;
};
inline InputFn one_batch(Features batch, bool again = false) {
  return [=] { return std::make_unique<OneBatch>(batch, again); };
}

/// A batch of `images` [n, h, w, c] with labels 0, 1, ..., again and again.
inline InputFn random_images(const Shape& images, std::int64_t classes) {
  Array image(images, DType::f32);
  PhiloxStream random(philox_key(3, "images"));
  for (float& x : image.span<float>()) x = random.uniform();
  Array label(Shape{images[0]}, DType::i64);
  std::int64_t i = 0;
  for (std::int64_t& y : label.span<std::int64_t>()) y = i++ % classes;
  return one_batch({{"image", image}, {"label", label}}, true);
}

/// Elements of all parameters that the model makes for this batch.
inline std::int64_t parameter_count(const ModelFn& model_fn, const InputFn& input_fn) {
  Features features;
  input_fn()->next(features);
  Graph graph;
  Batch batch(graph, signature_of(features));
  model_fn(Scope(graph), batch, Mode::train);
  std::int64_t count = 0;
  for (const Variable& v : trainable_variables(graph)) count += v.type().shape.elements();
  return count;
}

}  // namespace belfry::models
