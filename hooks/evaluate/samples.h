#pragma once
// Predictions while training goes on, to look at: grids of generated images, some sentences.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/train/estimator.h"

namespace belfry::hooks {

/// Options of samples().
struct SamplesOptions {
  /// Between samples, counted from step 0; where training has a limit its last step has some too.
  Steps every = Steps(500);
  /// Called with the finished steps and the predictions of all batches, joined over rows.
  std::function<void(std::int64_t step, const Features& predictions)> receive = {};
  std::vector<std::string> keys = {};  ///< which predictions; empty: all
  bool averaged = false;               ///< see PredictOptions
};

/// Hands what predict() makes of `input_fn` with the live variables of `estimator`, which is the
/// one that trains, to a function of yours: for instance one that writes data::image_grid().
///
///   hooks::samples(estimator, data::range(64) | data::batch(64),
///                  {.receive = [](std::int64_t step, const Features& p) { ...p.at("generated") }})
///
/// It changes nothing of what training computes. Random numbers of a prediction depend on its row
/// and on the seed, not on the step: a GAN draws from the same noise each time, and what changes is
/// what it has learnt. A step whose loss, or another of the model's values, is not finite has no
/// samples. Of several workers the chief alone predicts; the others wait for it, at most
/// RunConfig::reduction_timeout.
///
/// The first batch is tried out before the first step. `estimator` must outlive the hook's
/// training. Error: `every` below 1, no function; before the first step, data without a batch or
/// known to be endless, averages that no hook keeps, what predict() throws; later, predictions of
/// several batches that differ in more than their rows, and whatever predict() or the function
/// throws: that loses no step, since training then saves before it fails.
std::shared_ptr<Hook> samples(Estimator& estimator, InputFn input_fn, SamplesOptions options);

}  // namespace belfry::hooks
