#pragma once
// A small model with a checkpoint, and its export.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "../base/error_of.h"
#include "../base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/train/checkpoint.h"

namespace belfry {

/// y = x w + b, and what twice that is; w and b have shapes [2, 1] and [1].
inline EstimatorSpec line(Scope s, const Batch& batch, Mode) {
  Tensor y = dense(s / "line", batch["x"], {.units = 1});
  return {.predictions = {{"y", y}, {"twice", y * 2}}};
}

inline Array vector_of(const std::vector<float>& values, const Shape& shape) {
  return Array::of(std::span<const float>(values), shape);
}

/// w = (3, 5), b = 7; their averages are 1, 1 and 0.
inline std::string line_checkpoint(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.step = 12;
  checkpoint.variables = {{"line/kernel", vector_of({3, 5}, {2, 1})},
                          {"line/bias", vector_of({7}, {1})},
                          {"line/kernel/moving_average", vector_of({1, 1}, {2, 1})},
                          {"line/bias/moving_average", vector_of({0}, {1})},
                          {"line/kernel/moving_average_count", Array::scalar(std::int64_t{3})},
                          {"line/bias/moving_average_count", Array::scalar(std::int64_t{3})}};
  std::string path = folder + "/line.safetensors";
  write_checkpoint(path, checkpoint);
  return path;
}

inline ExportSignature of_x(std::vector<std::string> outputs = {}) {
  return {.inputs = {{"x", {{2}, DType::f32}}}, .outputs = std::move(outputs)};
}

inline ExportOptions line_options(const std::string& folder) {
  return {
      .model_fn = line, .checkpoint = line_checkpoint(folder), .signatures = {{"predict", of_x()}}};
}

}  // namespace belfry
