#pragma once
// Comparing the models for sequences with the same networks in another program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "../framework/base/error_of.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/runtime/evaluate.h"
#include "models_support.h"

namespace belfry::models {

/// sin(start), sin(start + 0.7), ..., plus `offset`: easily written in any language.
inline Array wave(const Shape& shape, double start, double offset = 0) {
  Array out(shape, DType::f64);
  double i = 0;
  for (double& x : out.span<double>()) x = offset + std::sin(start + 0.7 * i++);
  return out;
}

/// The predictions of a model for a batch, where the i-th variable made, from 1, is wave(i), plus
/// 1.5 for a variance.
inline std::map<std::string, Array> predictions_of_waves(const ModelFn& model_fn,
                                                         const Features& features) {
  Graph graph;
  Batch batch(graph, signature_of(features));
  EstimatorSpec spec = model_fn(Scope(graph), batch, Mode::predict);
  std::map<std::string, Array> given;
  for (const auto& [name, array] : features) given[name] = array;
  int i = 0;
  for (Node* node : graph.variables()) {
    Variable v(*node);
    given[v.name()] = wave(v.shape(), ++i, v.name().ends_with("variance") ? 1.5 : 0);
    given[v.name()] = given[v.name()].cast(v.type().dtype);
  }
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : spec.predictions) tensors.push_back(tensor);
  std::vector<Array> values = evaluate(tensors, given, {.fast = false});
  std::map<std::string, Array> out;
  for (std::size_t p = 0; p < values.size(); ++p) out[spec.predictions[p].first] = values[p];
  return out;
}

inline std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

inline auto near(std::vector<double> expected, double tolerance = 1e-10) {
  return ::testing::Pointwise(::testing::DoubleNear(tolerance), std::move(expected));
}

/// The error of one training step.
inline std::string training_error(const ModelFn& model_fn, const Features& features) {
  return error_of([&] {
    Estimator estimator({.model_fn = model_fn, .model_dir = new_folder(), .run = quiet()});
    estimator.train(one_batch(features, true), {.steps = 1});
  });
}

}  // namespace belfry::models
