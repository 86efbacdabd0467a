#pragma once
// Building a model function for random images.

#include <gtest/gtest.h>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// One thread is enough for small images, and no checkpoint is wanted.
inline RunConfig quiet() {
  RunConfig config;
  config.save_checkpoint = std::nullopt;
  config.threads = 1;
  return config;
}

/// A batch of `images` [n, h, w, c] with labels 0, 1, ..., again and again.
inline InputFn random_images(const Shape& images, std::int64_t classes) {
  struct Stream final : InputStream {
    bool next(Features& batch) override {
      batch = features;
      return true;
    }
    Features features;
  };
  Array image(images, DType::f32);
  PhiloxStream random(philox_key(3, "images"));
  for (float& x : image.span<float>()) x = random.uniform();
  Array label(Shape{images[0]}, DType::i64);
  std::int64_t i = 0;
  for (std::int64_t& y : label.span<std::int64_t>()) y = i++ % classes;
  return [image, label]() -> InputStreamPtr {
    auto stream = std::make_unique<Stream>();
    stream->features = {{"image", image}, {"label", label}};
    return stream;
  };
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
