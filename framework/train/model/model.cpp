#include "belfry/framework/train/model/model.h"

#include <algorithm>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/train/model/gradient_hooks.h"
#include "belfry/framework/train/model/loss_scale.h"

namespace belfry {
namespace {

std::vector<Node*> effects_after(const Graph& graph, std::size_t count) {
  return {graph.effects().begin() + count, graph.effects().end()};
}

Tensor as_scalar(Tensor x) { return x.rank() > 0 ? reshape(x, Shape{}) : x; }

// A value that leaves the model is no narrower for having been computed in 16 bits.
Tensor as_f32(Tensor x) {
  bool narrow = x.dtype() == DType::bf16 || x.dtype() == DType::f16;
  return narrow ? cast(x, DType::f32) : x;
}

// The value of a summary as it leaves the model.
Tensor shown(const Summary& summary) {
  Tensor value = summary.value;
  if (summary.kind == SummaryKind::scalar) value = as_scalar(value);
  if (summary.kind == SummaryKind::image && value.size(0) > summary.images)
    value = slice(value, {.begin = {0, 0, 0, 0}, .size = {summary.images, -1, -1, -1}});
  return as_f32(value);
}

// The term with which a micro-batch's loss or value enters the sum over micro-batches.
Tensor weighted(Tensor x, TowerReduction reduction, double fraction) {
  return reduction == TowerReduction::sum || fraction == 1 ? x : x * fraction;
}

Tensor sum_of(Tensor total, Tensor addend) { return total.defined() ? total + addend : addend; }

bool uses_several_devices(const Graph& graph) {
  return std::any_of(graph.begin(), graph.end(), [](const auto& n) { return n->device() > 0; });
}

// Variables that an optimizer keeps beside each one that it updates.
int slots_of(const Optimizer& optimizer) {
  Graph scratch;
  Variable v = Scope(scratch).variable("v", {.shape = {1}});
  optimizer.apply({{v, v}}, {});
  return std::count_if(scratch.variables().begin(), scratch.variables().end(), [](const Node* n) {
    return n->as<VariableOptions>().kind == VariableKind::slot;
  });
}

Tensor over_towers(Tensor x, TowerReduction reduction, std::string name) {
  if (reduction == TowerReduction::mean) return tower_mean({x}, std::move(name))[0];
  return tower_sum({zero_without_rows(x)}, std::move(name))[0];
}

// The updates whose loss is that result, for the loss and each value of a spec with a round; all if
// there is none.
std::vector<UpdateSet> updates_of_results(const EstimatorSpec& spec) {
  std::vector<Update> updates = spec.train.list(spec.loss);
  auto of = [&](const Tensor& result) {
    UpdateSet own;
    for (std::size_t u = 0; u < updates.size(); ++u)
      if (updates[u].loss == result) own |= {u};
    return own.empty() ? UpdateSet::all() : own;
  };
  std::vector<UpdateSet> out{of(spec.loss)};
  for (const auto& [name, value] : spec.values) out.push_back(of(value));
  return out;
}

// The factor of a tower's gradients that makes their sum over towers and micro-batches the step's;
// undefined: 1.
Tensor gradient_weight(Graph& graph, const Update& update, double fraction) {
  DType dtype = update.loss.dtype();
  if (update.over_towers == TowerReduction::sum)
    return graph.towers() > 1 ? cast(tower_has_rows(graph), dtype) : Tensor();
  if (graph.towers() > 1) return cast(tower_weight(graph) * fraction, dtype);
  return fraction == 1 ? Tensor() : constant(graph, fraction, dtype);
}

// Runs `body`. Where a model was built for single examples, as its dataset lacks batch(), shapes
// that do not fit tell of it.
template <class Body>
void with_hint_of_batch(const Signature& signature, const Body& body) {
  try {
    body();
  } catch (Error& error) {
    auto scalar = std::ranges::find_if(
        signature, [](const auto& feature) { return feature.second.shape.rank() == 0; });
    if (scalar != signature.end() && signature.size() > 1)
      error.add_context(concat("`", scalar->first,
                               "` has no axis of rows; if these are single "
                               "examples, put data::batch(n) behind the dataset"));
    throw;
  }
}

}  // namespace

Model::Model(const ModelFn& model_fn, Mode mode, Signature signature, const Hooks& hooks,
             const ModelOptions& options)
    : mode_(mode),
      signature_(std::move(signature)),
      options_(options),
      graph_(std::make_unique<Graph>(mode == Mode::train ? options.towers : 1)) {
  with_context(concat("while building the ", mode_, " model for ", to_string(signature_)), [&] {
    // A split numbers the nodes. These are then the same for one row as for several.
    if (options_.split > 0) graph_->keep_idle_nodes();
    Batch batch(*graph_, signature_);
    rows_ = batch.rows();
    if (mode_ == Mode::train) return build_training(model_fn, batch, hooks);
    MicroBatch whole = build_forward(model_fn, batch, {0, rows_});
    spec_ = whole.spec;
    place({whole});
    require(graph_->effects().empty(), "model_fn: ", graph_->effects().size(),
            " variables are assigned in ", mode_, " mode; only training may change them");
  });
}

Model::MicroBatch Model::build_forward(const ModelFn& model_fn, const Batch& batch, RowRange rows,
                                       bool first) {
  graph_->begin_micro_batch(rows.first);
  MicroBatch micro_batch;
  if (rows_ > 0) micro_batch.fraction = static_cast<double>(rows.count) / rows_;
  Scope scope(*graph_);
  Batch own = rows.count == rows_ ? batch : batch.rows(rows.first, rows.count);
  micro_batch.begin = graph_->size();
  if (options_.precision != Precision::f32)
    graph_->set_input_rule(
        autocast(options_.precision == Precision::bf16 ? DType::bf16 : DType::f16));
  with_hint_of_batch(
      signature_, [&] { micro_batch.spec = model_fn(first ? scope : scope.shared(), own, mode_); });
  graph_->set_input_rule({});
  validate(micro_batch.spec, mode_);
  if (!micro_batch.spec.round.empty())
    micro_batch.result_updates = updates_of_results(micro_batch.spec);
  if (mode_ != Mode::predict) micro_batch.spec.loss = as_f32(as_scalar(micro_batch.spec.loss));
  for (auto& [name, prediction] : micro_batch.spec.predictions) prediction = as_f32(prediction);
  for (auto& [name, value] : micro_batch.spec.values) value = as_f32(value);
  if (mode_ == Mode::train)
    for (Summary& summary : micro_batch.spec.summaries) summary.value = shown(summary);
  micro_batch.end = graph_->size();
  return micro_batch;
}

// Gradients are built for each micro-batch before the next micro-batch's forward pass, so that its
// activations are free by then; but not if the model lies on several devices.
void Model::build_training(const ModelFn& model_fn, const Batch& batch, const Hooks& hooks) {
  std::vector<MicroBatch> pipeline;
  bool first = true;
  // Every tower has the same number of micro-batches, since a micro-batch may take part in
  // reductions. One without rows goes through all of them with the row that it was lent.
  std::int64_t least =
      options_.least_rows > 0 ? options_.least_rows : std::max(rows_, std::int64_t{1});
  int micro_batches = std::min<std::int64_t>(options_.micro_batches, least);
  for (RowRange rows : split_rows(rows_, micro_batches)) {
    if (rows.count == 0) rows = {0, rows_};
    MicroBatch micro_batch = build_forward(model_fn, batch, rows, first);
    first = false;
    if (options_.split > 0 || uses_several_devices(*graph_)) {
      pipeline.push_back(std::move(micro_batch));
    } else {
      place({micro_batch});
      add_results(micro_batch);
      add_gradients(micro_batch);
    }
  }
  if (!pipeline.empty()) build_pipeline(pipeline);
  graph_->end_micro_batches();
  // Reductions run in the order in which they are made. Those of gradients can start in the midst
  // of the backward pass, unless they stand behind one whose operands are computed after it.
  std::size_t forward_effects = graph_->effects().size();
  build_updates(hooks);
  merge_over_towers();
  average_statistics(forward_effects);
  bool conditional = std::any_of(updates_.begin(), updates_.end(),
                                 [](const auto& u) { return u.condition.defined(); });
  if (conditional) keep_statistics_finite();
}

// All forward passes and then all gradients, the last micro-batch's first: while one device has a
// micro-batch, the others have other micro-batches (Huang et al., "GPipe", 2019, section 2.3). Each
// device runs its nodes in the order in which they are made here.
void Model::build_pipeline(const std::vector<MicroBatch>& micro_batches) {
  place(micro_batches);
  for (const MicroBatch& micro_batch : micro_batches) add_results(micro_batch);
  for (auto micro_batch = micro_batches.rbegin(); micro_batch != micro_batches.rend();
       ++micro_batch)
    add_gradients(*micro_batch);
}

std::vector<SplitPass> Model::passes_of(const std::vector<MicroBatch>& micro_batches) const {
  std::vector<SplitPass> passes;
  std::vector<Update> of_first;
  if (mode_ == Mode::train) of_first = micro_batches[0].spec.train.list(micro_batches[0].spec.loss);
  for (const MicroBatch& micro_batch : micro_batches) {
    SplitPass& pass = passes.emplace_back();
    pass.nodes = computing_nodes(*graph_, micro_batch.begin, micro_batch.end);
    if (mode_ != Mode::train) continue;
    std::vector<Update> updates = micro_batch.spec.train.list(micro_batch.spec.loss);
    for (std::size_t u = 0; u < std::min(updates.size(), of_first.size()); ++u)
      pass.targets.push_back(
          {updates[u].loss, of_first[u].variables, slots_of(of_first[u].optimizer)});
  }
  return passes;
}

void Model::place(const std::vector<MicroBatch>& micro_batches) {
  if (options_.split > 0) {
    std::vector<SplitPass> passes = passes_of(micro_batches);
    if (!options_.split_placement) {
      split_choices_ =
          split_placements(passes, {.devices = options_.split,
                                    .recompute = options_.recompute,
                                    .device_of_variable = options_.device_of_variable});
      options_.split_placement = split_choices_[0];
    }
    place_split(*graph_, *options_.split_placement, passes);
    split_text_ = describe_split(*options_.split_placement, passes[0].nodes);
  }
  if (!options_.device_of_variable) return;
  for (Node* variable : graph_->variables())
    if (auto device = options_.device_of_variable(variable->as<VariableOptions>().name))
      graph_->place(*variable, *device);
}

// Losses and values are sums over the micro-batches.
void Model::add_results(const MicroBatch& micro_batch) {
  const EstimatorSpec& spec = micro_batch.spec;
  bool first = !spec_.loss.defined();
  Tensor total = sum_of(first ? Tensor() : spec_.loss,
                        weighted(spec.loss, spec.loss_over_towers, micro_batch.fraction));
  require(first || spec.values.size() == spec_.values.size(),
          "model_fn: it built another number of values for a later micro-batch");
  NamedTensors values;
  for (std::size_t i = 0; i < spec.values.size(); ++i)
    values.emplace_back(spec.values[i].first,
                        sum_of(first ? Tensor() : spec_.values[i].second,
                               weighted(as_scalar(spec.values[i].second), TowerReduction::mean,
                                        micro_batch.fraction)));
  if (first) {
    spec_ = spec;
    result_updates_ = micro_batch.result_updates;
    if (!spec.round.empty()) round_ = spec.round;
  }
  spec_.loss = total;
  spec_.values = std::move(values);
  add_summaries(micro_batch, first);
}

// Scalars are sums over the micro-batches too, the others those of the first.
void Model::add_summaries(const MicroBatch& micro_batch, bool first) {
  const std::vector<Summary>& own = micro_batch.spec.summaries;
  require(first || own.size() == spec_.summaries.size(),
          "model_fn: it built another number of summaries for a later micro-batch");
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i].kind == SummaryKind::scalar)
      spec_.summaries[i].value =
          sum_of(first ? Tensor() : spec_.summaries[i].value,
                 weighted(own[i].value, TowerReduction::mean, micro_batch.fraction));
}

void Model::add_gradients(const MicroBatch& micro_batch) {
  std::vector<Update> updates =
      micro_batch.spec.train.list(micro_batch.spec.loss, micro_batch.spec.loss_over_towers);
  require(updates.size() <= UpdateSet::most, "model_fn: ", updates.size(),
          " updates; a step has at most ", UpdateSet::most);
  // A list of the variables so far is longer in later micro-batches, which have those of the first.
  std::vector<Update> of_first = spec_.train.list(spec_.loss, spec_.loss_over_towers);
  bool first = updates_.empty();
  if (first) updates_.resize(of_first.size());
  require(updates.size() == updates_.size(),
          "model_fn: it built another number of updates for a later micro-batch");
  for (std::size_t u = 0; u < updates.size(); ++u) {
    Update& update = updates[u];
    update.variables = of_first[u].variables;
    update.loss = as_f32(update.loss);
    Tensor weight = gradient_weight(*graph_, update, micro_batch.fraction);
    if (options_.precision == Precision::f16) {
      Tensor scale = cast(loss_scale(*graph_, u), update.loss.dtype());
      weight = weight.defined() ? weight * scale : scale;
    }
    Gradients gradients = compute_gradients(update, weight);
    BuiltUpdate& built = updates_[u];
    if (first) {
      built.update = std::move(update);
      built.gradients = std::move(gradients);
      continue;
    }
    for (std::size_t i = 0; i < gradients.size(); ++i)
      built.gradients[i].gradient = built.gradients[i].gradient + gradients[i].gradient;
  }
}

void Model::merge_over_towers() {
  if (graph_->towers() == 1) return;
  spec_.loss = over_towers(spec_.loss, spec_.loss_over_towers, "loss");
  for (auto& [name, value] : spec_.values)
    value = over_towers(value, TowerReduction::mean, concat("value ", name));
  for (Summary& summary : spec_.summaries)
    if (summary.kind == SummaryKind::scalar)
      summary.value =
          over_towers(summary.value, TowerReduction::mean, concat("summary ", summary.name));
}

void Model::build_updates(const Hooks& hooks) {
  // A micro-batch has the whole batch on a tower with one row, and a piece of it elsewhere.
  bool alike = options_.alike && (options_.even_rows || options_.micro_batches == 1);
  Hooks chain{average_gradients({.bucket = options_.bucket,
                                 .rows = rows_,
                                 .most_rows = std::max(rows_, options_.most_rows),
                                 .even_rows = options_.even_rows,
                                 .alike = alike})};
  if (options_.precision == Precision::f16) chain.push_back(unscale_loss());
  chain.insert(chain.end(), hooks.begin(), hooks.end());
  chain.insert(chain.end(), spec_.hooks.begin(), spec_.hooks.end());
  chain.push_back(apply_gradients());
  for (BuiltUpdate& built : updates_) {
    std::size_t effects = graph_->effects().size(), nodes = graph_->size();
    GradientStage stage{*built.update,
                        std::move(built.gradients),
                        {},
                        static_cast<std::size_t>(&built - updates_.data())};
    for (const auto& hook : chain) hook->on_tower_gradients(stage);
    for (const auto& hook : chain) hook->on_gradients(stage);
    for (const auto& hook : chain) hook->after_apply(stage);
    built.gradients = std::move(stage.gradients);
    built.condition = stage.condition;
    built.effects = effects_after(*graph_, effects);
    built.reductions = reductions_after(nodes);
  }
}

bool Model::has_scope(std::string_view scope) const {
  return std::ranges::any_of(*graph_, [&](const auto& node) { return node->is_in(scope); });
}

std::vector<VariableOptions> Model::variables() const {
  std::vector<VariableOptions> out;
  for (const Node* node : graph_->variables()) out.push_back(node->as<VariableOptions>());
  return out;
}

std::vector<UpdateSet> Model::different_sub_steps() const {
  std::vector<UpdateSet> out;
  for (const SubStep& sub_step : round()) {
    UpdateSet updates = sub_step.updates & all_updates();
    if (std::ranges::find(out, updates) == out.end()) out.push_back(updates);
  }
  return out;
}

bool Model::may_be_skipped(std::size_t update) const {
  return updates_[update].condition.defined();
}

std::shared_ptr<const TowerPlan> Model::compile(std::span<Device* const> devices,
                                                const CompileOptions& options, UpdateSet chosen,
                                                bool apply) const {
  std::vector<Tensor> outputs;
  std::vector<Node*> effects;
  std::vector<Node*> reductions;
  auto append = [](std::vector<Node*>& all, const std::vector<Node*>& list) {
    all.insert(all.end(), list.begin(), list.end());
  };
  if (mode_ == Mode::predict)
    for (const auto& [name, value] : spec_.predictions) outputs.push_back(value);
  if (mode_ == Mode::evaluate) {
    outputs.push_back(spec_.loss);
    for (const auto& [name, metric] : spec_.metrics) outputs.push_back(metric.state);
  }
  if (mode_ == Mode::train) {
    if (has_result(0, chosen)) outputs.push_back(spec_.loss);
    for (std::size_t i = 0; i < spec_.values.size(); ++i)
      if (has_result(1 + i, chosen)) outputs.push_back(spec_.values[i].second);
    for (std::size_t i = 0; i < updates_.size(); ++i)
      if (chosen.contains(i) && may_be_skipped(i)) outputs.push_back(updates_[i].condition);
    for (const auto& [effect, updates] : forward_effects_)
      if (spec_.round.empty() || !(updates & chosen).empty()) effects.push_back(effect);
    reductions = forward_reductions_;
    for (std::size_t i = 0; i < updates_.size(); ++i) {
      if (!chosen.contains(i)) continue;
      append(effects, updates_[i].effects);
      append(reductions, updates_[i].reductions);
    }
  }
  if (!apply) {
    // The reductions that the towers with effects run, and no others.
    auto live = live_nodes(*graph_, outputs, effects);
    std::erase_if(reductions, [&](Node* n) { return !live[n->id()]; });
    std::erase_if(effects, [](Node* n) {
      return !differs_over_towers(
          n->input(n->mutated()[0]).node().as<VariableOptions>().over_towers);
    });
    append(effects, reductions);
  }
  return compile_tower(outputs, effects, devices, options);
}

std::shared_ptr<const TowerPlan> Model::compile_summaries(std::span<Device* const> devices,
                                                          const CompileOptions& options) const {
  std::vector<Tensor> outputs;
  for (const Summary& summary : spec_.summaries) outputs.push_back(summary.value);
  return compile_tower(outputs, {}, devices, options);
}

std::int64_t row_count(const Features& batch) {
  for (const auto& [name, array] : batch)
    if (array.shape().rank() > 0) return array.shape()[0];
  return 1;
}

}  // namespace belfry
