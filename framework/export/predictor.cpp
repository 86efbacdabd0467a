#include "belfry/framework/export/predictor.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/parse_examples.h"
#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/runtime/plan_cache.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {
namespace {

// A signature for batches of one size, ready to run.
struct Prepared {
  const saved::Signature* signature;
  saved::BatchSize batch;
  std::unique_ptr<Executable> executable;
};

// The variables and plans with which one call at a time computes.
struct Lane {
  std::unique_ptr<VariableStore> variables;
  PlanCache<Prepared> plans;
};

// Finds n or t, of which a size has `factor`: by the first input with a size of this and nothing
// else.
std::int64_t number_of(std::int64_t saved::Extent::*factor, const saved::Signature& signature,
                       const Features& inputs, std::int64_t otherwise) {
  for (const saved::Node* input : signature.inputs()) {
    const saved::Type& type = input->outputs[0];
    const auto& name = std::get<std::string>(input->option("name"));
    if (!inputs.contains(name)) continue;
    const Shape& shape = inputs.at(name).shape();
    for (std::size_t i = 0; i < type.sizes.size() && static_cast<int>(i) < shape.rank(); ++i) {
      const saved::Extent& size = type.sizes[i];
      saved::Extent only{.fixed = size.fixed};
      only.*factor = size.*factor;
      if (size != only || only.*factor == 0) continue;
      std::int64_t more = 0;  // a file may say anything
      if (__builtin_sub_overflow(shape[i], only.fixed, &more)) return 0;
      return std::max(more / (only.*factor), std::int64_t{0});
    }
  }
  return otherwise;
}

saved::BatchSize size_of(const saved::Signature& signature, const Features& inputs) {
  // Any number of rows will do if nothing follows them.
  return {number_of(&saved::Extent::per_row, signature, inputs, 1),
          number_of(&saved::Extent::per_step, signature, inputs, 0)};
}

void check_inputs(const saved::Signature& signature, const Features& inputs,
                  const saved::BatchSize& batch) {
  for (const saved::Node* input : signature.inputs()) {
    const auto& name = std::get<std::string>(input->option("name"));
    std::vector<std::string> names;
    for (const auto& [given, value] : inputs) names.push_back(given);
    require(inputs.contains(name), "predictor: the input `", name, "` ", input->outputs[0],
            " is missing; this batch has ", names.empty() ? "nothing" : join(names, ", "));
    const Array& value = inputs.at(name);
    require(value.defined(), "predictor: the input `", name, "` is undefined");
    const saved::Type& type = input->outputs[0];
    std::string known;
    if (type.follows_batch()) {
      known = concat(" with n = ", batch.rows, " rows");
      if (signature.most_steps > 0) known += concat(" and t = ", batch.steps, " steps");
    }
    require(value.type() == type.at(batch), "predictor: the input `", name, "` is ", value.type(),
            " but must be ", type, known);
  }
  require(batch.steps <= signature.most_steps, "predictor: the inputs have ", batch.steps,
          " steps; the export takes at most ", signature.most_steps,
          ", as its ExportSignature says");
}

}  // namespace

struct Predictor::Impl {
  std::string path;
  PredictorOptions options;
  saved::Model model;
  std::shared_ptr<Device> device;
  std::unique_ptr<VariableStore> variables;
  std::vector<std::unique_ptr<Lane>> lanes;

  Mutex mutex;
  Condition lane_is_free;
  std::vector<Lane*> free_lanes BELFRY_GUARDED_BY(mutex);

  void load();
  void load_variables(const NamedArrays& weights);
  const saved::Signature& signature(std::string_view name) const;
  std::shared_ptr<Prepared> prepare(Lane& lane, const saved::Signature& signature,
                                    const saved::BatchSize& batch);
};

namespace {

// A lane that nobody else has, for as long as this lives.
template <class Impl>
class Borrowed {
 public:
  explicit Borrowed(Impl& impl) : impl_(impl) {
    MutexLock lock(impl_.mutex);
    while (impl_.free_lanes.empty()) impl_.lane_is_free.wait(impl_.mutex);
    lane_ = impl_.free_lanes.back();
    impl_.free_lanes.pop_back();
  }
  ~Borrowed() {
    {
      MutexLock lock(impl_.mutex);
      impl_.free_lanes.push_back(lane_);
    }
    impl_.lane_is_free.notify_one();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Lane& lane() { return *lane_; }

 private:
  Impl& impl_;
  Lane* lane_ = nullptr;
};

}  // namespace

void Predictor::Impl::load() {
  require(options.parallel >= 1 && options.plans >= 1, "predictor: PredictorOptions::parallel is ",
          options.parallel, " and plans is ", options.plans, "; both are at least 1");
  NamedArrays weights = load_safetensors(path + "/model.safetensors").tensors;
  std::string graph = path + "/graph.json";
  std::string json = read_file(graph);
  with_context(graph, [&] {
    model = saved::model_from_json(json, weights);
    // Once for some size, so that what is wrong is said now. Models are exported by building them
    // for this one, among others.
    for (const auto& [name, signature] : model.signatures)
      with_context(concat("signature ", name), [&signature = signature] {
        saved::instantiate(signature, {2, signature.most_steps});
        saved::check_examples(signature);
      });
  });
  device = find_device(options.device);
  load_variables(weights);
  for (int i = 0; i < options.parallel; ++i) {
    lanes.push_back(
        std::make_unique<Lane>(Lane{std::make_unique<VariableStore>(device, 0, variables.get()),
                                    PlanCache<Prepared>(options.plans)}));
    MutexLock lock(mutex);
    free_lanes.push_back(lanes.back().get());
  }
}

// All of them, so that lanes look them up without a lock.
void Predictor::Impl::load_variables(const NamedArrays& weights) {
  variables = std::make_unique<VariableStore>(device);
  for (const auto& [key, signature] : model.signatures) {
    for (const saved::Node& node : signature.nodes) {
      if (node.op != variable_op.name) continue;
      const auto& name = std::get<std::string>(node.option("name"));
      TensorType type = node.outputs[0].at({});
      auto found = weights.find(name);
      require(found != weights.end(), path, ": graph.json has the variable `", name,
              "`, which is not in model.safetensors");
      require(found->second.type() == type && !node.outputs[0].follows_batch(), path,
              ": the variable `", name, "` is ", node.outputs[0], " in graph.json but ",
              found->second.type(), " in model.safetensors");
      variables->get_or_create({.name = name, .type = type}, 0);
      variables->write(name, found->second);
    }
  }
}

const saved::Signature& Predictor::Impl::signature(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [key, value] : model.signatures) names.push_back(key);
  if (name.empty() && names.size() == 1) name = names[0];
  auto found = model.signatures.find(name.empty() ? default_signature : name);
  require(found != model.signatures.end(), "predictor: ",
          name.empty() ? "name one of several signatures"
                       : concat("there is no signature `", name, "`"),
          "; ", path, " has ", join(names, ", "));
  return found->second;
}

std::shared_ptr<Prepared> Predictor::Impl::prepare(Lane& lane, const saved::Signature& signature,
                                                   const saved::BatchSize& batch) {
  if (auto known = lane.plans.use(
          [&](const Prepared& p) { return p.signature == &signature && p.batch == batch; }))
    return known;
  lane.plans.make_room();  // before the new one takes memory
  saved::GraphOf built = saved::instantiate(signature, batch);
  auto plan = compile(built.outputs, {}, *device,
                      {.threads = options.threads,
                       .tf32 = options.tf32,
                       .exact_convolutions = options.exact_convolutions});
  return lane.plans.add(
      {&signature, batch,
       std::make_unique<Executable>(std::move(plan), *lane.variables, model.seed)});
}

Predictor Predictor::load(const std::string& path, const PredictorOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->path = newest_export(path);
  impl->options = options;
  impl->load();
  return Predictor(std::move(impl));
}

Features Predictor::operator()(const Features& inputs, std::string_view name) const {
  const saved::Signature& signature = impl_->signature(name);
  saved::BatchSize batch = size_of(signature, inputs);
  check_inputs(signature, inputs, batch);
  Borrowed borrowed(*impl_);
  auto prepared = impl_->prepare(borrowed.lane(), signature, batch);
  Executable& executable = *prepared->executable;
  StepState state{.seed = impl_->model.seed, .step = impl_->model.step};
  state.draw_as_step_0 = true;  // as predict() does
  executable.run(inputs, state);
  Features outputs;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i)
    outputs.set(signature.outputs[i].first, executable.output(i).clone());
  return outputs;
}

Features Predictor::single(const Features& example, std::string_view name) const {
  Features batch, outputs;
  for (const auto& [key, value] : example)
    batch.set(key, value.reshape(with_rows(value.shape(), 1)));
  for (const auto& [key, value] : (*this)(batch, name)) {
    require(value.shape().rank() > 0 && value.shape()[0] == 1, "predictor: the prediction `", key,
            "` is ", value.type(),
            " for 1 row, but single() needs one row an example; call the "
            "predictor with a batch instead");
    outputs.set(key, value.row(0));
  }
  return outputs;
}

Features Predictor::parse_examples(std::span<const std::string> serialized,
                                   std::string_view signature) const {
  return saved::parse_examples(serialized, impl_->signature(signature),
                               impl_->options.decode_image);
}

Features Predictor::predict_examples(std::span<const std::string> serialized,
                                     std::string_view signature) const {
  return (*this)(parse_examples(serialized, signature), signature);
}

std::vector<std::string> Predictor::signatures() const {
  std::vector<std::string> names;
  for (const auto& [name, signature] : impl_->model.signatures) names.push_back(name);
  return names;
}

Predictor::Types Predictor::inputs(std::string_view name) const {
  Types types;
  for (const saved::Node* node : impl_->signature(name).inputs())
    types.emplace_back(std::get<std::string>(node->option("name")), node->outputs[0]);
  return types;
}

Predictor::Types Predictor::outputs(std::string_view name) const {
  Types types;
  const saved::Signature& signature = impl_->signature(name);
  for (const auto& [key, operand] : signature.outputs)
    types.emplace_back(key, signature.type(operand));
  return types;
}

std::int64_t Predictor::most_steps(std::string_view name) const {
  return impl_->signature(name).most_steps;
}

const ExampleInputs& Predictor::examples(std::string_view name) const {
  return impl_->signature(name).examples;
}
const std::string& Predictor::preparation(std::string_view name) const {
  return impl_->signature(name).preparation;
}

std::int64_t Predictor::step() const { return impl_->model.step; }

const std::string& Predictor::path() const { return impl_->path; }

}  // namespace belfry
