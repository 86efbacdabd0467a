#pragma once
// A model_fn's result for one mode and one input signature, compiled. Internal to train/.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

/// The graph that a model_fn built, with what each mode wants of it.
class Model {
 public:
  /// Calls `model_fn` and, in train mode, builds the updates through the chain of gradient hooks:
  /// average, then `hooks` and the spec's own, then apply. Error: what model_fn or a hook threw,
  /// with mode and signature.
  Model(const ModelFn& model_fn, Mode mode, Signature signature, const Hooks& hooks);

  const EstimatorSpec& spec() const { return spec_; }
  Mode mode() const { return mode_; }
  const Signature& signature() const { return signature_; }
  std::int64_t rows() const { return rows_; }
  std::size_t update_count() const { return update_effects_.size(); }

  /// The plan that runs the updates whose bits are set in `chosen` (train mode), or the evaluation
  /// or prediction. Outputs: train: loss, then spec().values; evaluate: loss, then the metrics'
  /// states; predict: the predictions.
  std::shared_ptr<const Plan> compile(Device& device, int threads = 0,
                                      std::uint64_t chosen = ~std::uint64_t{0}) const;

 private:
  void build_updates(const Hooks& hooks);

  Mode mode_;
  Signature signature_;
  std::int64_t rows_ = 1;
  std::unique_ptr<Graph> graph_;
  EstimatorSpec spec_;
  std::vector<Node*> forward_effects_;              // moving statistics and the like
  std::vector<std::vector<Node*>> update_effects_;  // by update
};

/// Size of axis 0 of the first feature that has axes; 1 when none has.
std::int64_t row_count(const Features& batch);

}  // namespace belfry
