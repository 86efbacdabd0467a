#pragma once
// The models that gpu_speed trains, and their batches.

#include <string>

#include "belfry/framework/framework.h"

namespace belfry::bench {

struct GpuModel {
  ModelFn model_fn;
  Shape image;  // of one example, u8
  std::int64_t classes = 10;
};

/// mlp, lenet, resnet18, resnet50, unet3d or dcgan64. Their images are bytes, which the device
/// casts.
GpuModel gpu_model(const std::string& name);

/// The features of n examples.
Signature signature_of(const GpuModel& model, std::int64_t n);

/// Random images and labels of `n` examples, in memory that the device copies from by itself.
Features random_batch(const GpuModel& model, std::int64_t n, const AllocateHost& allocate_host);

}  // namespace belfry::bench
