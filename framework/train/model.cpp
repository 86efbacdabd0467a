#include "belfry/framework/train/model.h"

#include "belfry/framework/ops/shape_ops.h"

namespace belfry {
namespace {

// First of the chain. One tower's gradients are their own average.
class AverageGradients final : public Hook {};

// Last of the chain.
class ApplyGradients final : public Hook {
 public:
  void on_gradients(GradientStage& stage) override {
    apply_gradients(stage.update, stage.gradients);
  }
};

std::vector<Node*> effects_after(const Graph& graph, std::size_t count) {
  return {graph.effects().begin() + static_cast<std::ptrdiff_t>(count), graph.effects().end()};
}

}  // namespace

Model::Model(const ModelFn& model_fn, Mode mode, Signature signature, const Hooks& hooks)
    : mode_(mode), signature_(std::move(signature)), graph_(std::make_unique<Graph>()) {
  with_context(concat("while building the ", mode_, " model for ", to_string(signature_)), [&] {
    Batch batch(*graph_, signature_);
    rows_ = batch.rows();
    spec_ = model_fn(Scope(*graph_), batch, mode_);
    validate(spec_, mode_);
    if (mode_ != Mode::predict && spec_.loss.rank() > 0) spec_.loss = reshape(spec_.loss, Shape{});
    forward_effects_ = effects_after(*graph_, 0);
    if (mode_ != Mode::train) {
      require(forward_effects_.empty(), "model_fn: ", forward_effects_.size(),
              " variables are assigned in ", mode_, " mode; only training may change them");
      return;
    }
    Hooks chain{std::make_shared<AverageGradients>()};
    chain.insert(chain.end(), hooks.begin(), hooks.end());
    chain.insert(chain.end(), spec_.hooks.begin(), spec_.hooks.end());
    chain.push_back(std::make_shared<ApplyGradients>());
    build_updates(chain);
  });
}

void Model::build_updates(const Hooks& hooks) {
  std::vector<Update> updates = spec_.train.list(spec_.loss);
  require(updates.size() <= 64, "model_fn: ", updates.size(), " updates; a step has at most 64");
  for (const Update& update : updates) {
    std::size_t before = graph_->effects().size();
    GradientStage stage{update, compute_gradients(update)};
    for (const auto& hook : hooks) hook->on_gradients(stage);
    update_effects_.push_back(effects_after(*graph_, before));
  }
}

std::shared_ptr<const Plan> Model::compile(Device& device, int threads,
                                           std::uint64_t chosen) const {
  std::vector<Tensor> outputs;
  std::vector<Node*> effects;
  if (mode_ == Mode::predict) {
    for (const auto& [name, value] : spec_.predictions) outputs.push_back(value);
  } else {
    outputs.push_back(spec_.loss);
  }
  if (mode_ == Mode::evaluate)
    for (const auto& [name, metric] : spec_.metrics) outputs.push_back(metric.state);
  if (mode_ == Mode::train) {
    for (const auto& [name, value] : spec_.values) outputs.push_back(value);
    effects = forward_effects_;
    for (std::size_t i = 0; i < update_effects_.size(); ++i)
      if (chosen >> i & 1)
        effects.insert(effects.end(), update_effects_[i].begin(), update_effects_[i].end());
  }
  return belfry::compile(outputs, effects, device, {.threads = threads});
}

std::int64_t row_count(const Features& batch) {
  for (const auto& [name, array] : batch)
    if (array.shape().rank() > 0) return array.shape()[0];
  return 1;
}

}  // namespace belfry
