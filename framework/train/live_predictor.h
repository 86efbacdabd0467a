#pragma once
// Predictions with the variables of an Estimator that may be training.

#include <memory>

#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/predictions.h"

namespace belfry {

/// The result of Estimator::predictor(): a function of a batch, with the variables as they are now.
///
///   LivePredictor predict = estimator.predictor({.keys = {"digit"}});
///   std::jthread trainer([&] { estimator.train(input_fn, {.max_steps = 1000}); });
///   show(predict({{"image", image}}).at("digit"));  // [n]
///
/// A copy predicts with the same variables. They are those of a whole step: the last one or, on a
/// GPU, that which is under way, which nobody has looked at for NaN yet. Random numbers are step
/// 0's, as for Estimator::predict(). Training ends with the same bits with and without predictions.
///
/// Thread rules: from any thread at any time while its Estimator lives. A prediction beside a
/// training waits until the running step and its hooks are done, and for the predictions that were
/// asked for before it; then the training waits for one prediction of each thread that asked. While
/// it is paused, waits for data or is between two calls of Training::step(), nobody waits for it. A
/// hook may predict on the training thread, with the variables of its own step where it says
/// needs_result_now(), but must not wait for another thread that does.
class LivePredictor {
 public:
  /// Estimator::predictor() calls it. Error: PredictOptions::checkpoint is not empty.
  LivePredictor(std::shared_ptr<Session> session, PredictOptions options);

  /// The predictions for a batch, as Estimator::predict() gives them with
  /// `.single_examples = false`. Arrays are the caller's. The first batch of a signature calls
  /// model_fn and compiles. Error: what model_fn throws, the batch does not fit the model, there is
  /// no such prediction, or there are no moving averages yet; a training has failed within a step,
  /// after which another predictor() goes on from the newest checkpoint.
  Features operator()(const Features& batch) const;

 private:
  std::shared_ptr<Session> session_;
  PredictOptions options_;
};

}  // namespace belfry
