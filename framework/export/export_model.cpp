#include "belfry/framework/export/export_model.h"

#include <algorithm>
#include <map>
#include <memory>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/export/check_trained.h"
#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/onnx/onnx_model.h"
#include "belfry/framework/export/parse_examples.h"
#include "belfry/framework/export/record.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/train/state/checkpoint_at.h"
#include "belfry/framework/train/state/variable_misfits.h"

namespace belfry {
namespace {

bool is_free(const ExportSignature& signature, const std::string& input) {
  return std::ranges::count(signature.free_steps, input) > 0;
}

// The most steps of a batch; 0: it has none.
std::int64_t most_steps(const ExportSignature& signature) {
  std::int64_t most = 0;
  for (const std::string& free : signature.free_steps) {
    auto input = std::ranges::find(signature.inputs, free, [](const auto& i) { return i.first; });
    require(input != signature.inputs.end(), "export: there is no input `", free,
            "` whose steps are free; ExportSignature::inputs has ", to_string(signature.inputs));
    const TensorType& type = input->second;
    require(type.shape.rank() > 0, "export: one example of the input `", free, "` is ", type,
            ", which has no axis of steps");
    std::int64_t steps = type.shape[0];
    require(steps >= 4 && (most == 0 || steps == most), "export: the input `", free, "` has ",
            steps, " steps that are free; expected ",
            most == 0 ? "at least 4" : concat("as many as the others have, ", most));
    most = steps;
  }
  return most;
}

belfry::Signature batch_of(const ExportSignature& signature, const saved::BatchSize& size) {
  belfry::Signature batch;
  for (const auto& [name, type] : signature.inputs) {
    Shape shape = belfry::with_rows(type.shape, size.rows);
    std::vector<std::int64_t> sizes(shape.begin(), shape.end());
    if (is_free(signature, name)) sizes[1] = size.steps;
    batch.emplace_back(name, TensorType{Shape(sizes), type.dtype});
  }
  return batch;
}

// A value that leaves the model is no narrower for having been computed in 16 bits, as in
// predict().
Tensor as_f32(Tensor x) {
  bool narrow = x.dtype() == DType::bf16 || x.dtype() == DType::f16;
  return narrow ? cast(x, DType::f32) : x;
}

std::vector<std::pair<std::string, Tensor>> chosen(const NamedTensors& predictions,
                                                   const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, Tensor>> outputs;
  std::vector<std::string> known;
  for (const auto& [name, value] : predictions) {
    known.push_back(name);
    if (names.empty()) outputs.emplace_back(name, as_f32(value));
  }
  for (const std::string& name : names) {
    auto found = std::find(known.begin(), known.end(), name);
    require(found != known.end(), "export: there is no prediction `", name, "`; the model has ",
            join(known, ", "));
    outputs.emplace_back(name, as_f32(predictions[found - known.begin()].second));
  }
  return outputs;
}

// For messages: what is no prediction of examples may depend on the number of rows, as a mean does.
std::string without_rows(const saved::Instance& instance) {
  for (const auto& [name, value] : instance.outputs)
    if (value.rank() > 0 && value.size(0) == instance.batch.rows) return {};
  const auto& [name, value] = instance.outputs.front();
  return concat("the prediction `", name, "` is ", value.type(), " for ", instance.batch.rows,
                " rows, and not one row an example; leave it out with ExportSignature::outputs");
}

saved::Signature record(const ExportOptions& options, const ExportSignature& signature) {
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<saved::Instance> instances;
  for (const saved::BatchSize& size : saved::sizes_to_record(most_steps(signature))) {
    auto& graph = graphs.emplace_back(std::make_unique<Graph>());
    auto inputs = batch_of(signature, size);
    with_context(concat("while building the model for ", to_string(inputs)), [&] {
      if (size.steps > 0) graph->keep_idle_nodes();
      Batch batch(*graph, inputs);
      if (Precision precision = options.precision.value_or(Precision::f32);
          precision != Precision::f32)
        graph->set_input_rule(autocast(precision == Precision::bf16 ? DType::bf16 : DType::f16));
      EstimatorSpec spec = options.model_fn(Scope(*graph), batch, Mode::predict);
      graph->set_input_rule({});
      validate(spec, Mode::predict);
      instances.push_back({size, graph.get(), chosen(spec.predictions, signature.outputs)});
    });
  }
  auto run = [&] { return saved::record(instances); };
  std::string odd = without_rows(instances[0]);
  saved::Signature recorded = odd.empty() ? run() : with_context(odd, run);
  recorded.examples = signature.examples;
  recorded.preparation = signature.preparation;
  return recorded;
}

// The average that predictions read in a variable's place; null: there is none, or it has seen no
// update.
const Array* average_of(const std::string& variable, const NamedArrays& variables) {
  std::string name = concat(variable, moving_average_suffix);
  auto average = variables.find(name), count = variables.find(name + "_count");
  bool has = average != variables.end() && count != variables.end() && count->second.item() > 0;
  return has ? &average->second : nullptr;
}

// The variables that the model reads in any signature, each once.
std::vector<VariableOptions> variables_of(const saved::Model& model) {
  std::map<std::string, TensorType> types;
  for (const auto& [key, signature] : model.signatures)
    for (const saved::Node& node : signature.nodes) {
      if (node.op != variable_op.name) continue;
      TensorType own = node.outputs[0].at({});
      auto [known, is_new] = types.emplace(std::get<std::string>(node.option("name")), own);
      require(known->second == own, "export: variable `", known->first, "` is ", own,
              " in signature ", key, " and ", known->second,
              " in one before it; its type must be the same in all");
    }
  std::vector<VariableOptions> variables;
  for (const auto& [name, type] : types) variables.push_back({.name = name, .type = type});
  return variables;
}

void require_fit(const std::vector<VariableOptions>& variables, const KnownVariables& known,
                 const std::string& source) {
  std::string misfits = describe_misfits(variables, known);
  require(misfits.empty(), "export: ", source, " does not fit the model:", misfits,
          "\ngive layers the same names and shapes in all modes");
}

void require_averages(bool any) {
  require(any,
          "export: there are no moving averages of variables; train with hooks::moving_average()");
}

// The weights that the model reads.
NamedArrays weights_of(const saved::Model& model, const Checkpoint& state, bool averaged) {
  std::vector<VariableOptions> variables = variables_of(model);
  KnownVariables known;
  add_saved(state.variables, known);
  require_fit(variables, known, concat("the checkpoint of step ", state.step));
  NamedArrays weights;
  bool any_average = false;
  for (const VariableOptions& variable : variables) {
    const Array* average = averaged ? average_of(variable.name, state.variables) : nullptr;
    if (average) {
      any_average = true;
      require(average->type() == variable.type, "export: the moving average of `", variable.name,
              "` is ", average->type(), "; expected ", variable.type);
    }
    weights[variable.name] = average ? *average : state.variables.at(variable.name);
  }
  require_averages(any_average || !averaged);
  return weights;
}

void copy_assets(const std::map<std::string, std::string>& assets, const std::string& folder) {
  if (assets.empty()) return;
  create_folders(folder);
  for (const auto& [name, path] : assets) {
    require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
            "export: `", name, "` is no name for an asset; use one without folders");
    write_file_atomically(folder + "/" + name, read_file(path));
  }
}

// Errors name the signature.
template <class Body>
void for_each_signature(const saved::Model& model, Body body) {
  for (const auto& [name, signature] : model.signatures)
    with_context(concat("signature ", name),
                 [&, &name = name, &signature = signature] { body(name, signature); });
}

void write_onnx(const saved::Model& model, const NamedArrays& weights, const std::string& folder) {
  for_each_signature(model, [&](const std::string& name, const saved::Signature& signature) {
    bool first = model.signatures.begin()->first == name;
    write_file_atomically(folder + (first ? "/model.onnx" : concat("/model.", name, ".onnx")),
                          onnx::to_onnx(signature, weights, name));
  });
}

// The model without its weights.
saved::Model record(const ExportOptions& options) {
  saved::Model model;
  for (const auto& [name, signature] : options.signatures)
    model.signatures[name] = with_context(concat("signature ", name), [&, &signature = signature] {
      return record(options, signature);
    });
  return model;
}

void check(const ExportOptions& options) {
  require(options.model_fn, "export: there is no model_fn; set ExportOptions::model_fn");
  require(!options.signatures.empty(),
          "export: there are no signatures; set ExportOptions::signatures, for example "
          "{{\"predict\", {.inputs = {{\"image\", {{28, 28, 1}, DType::f32}}}}}}");
  for (const auto& [name, signature] : options.signatures) {
    require(!name.empty() && name.find_first_of("/\\. ") == std::string::npos, "export: `", name,
            "` is no name for a signature; use one without dots, spaces and slashes");
    if (signature.preparation.empty()) continue;
    std::string title = concat("export: the preparation of signature `", name, "`");
    if (JsonValue json = JsonValue::parse(signature.preparation, title); !json.is_object())
      json.refuse("a JSON object, as data::Augmentation::json() gives");
  }
}

void check_runs(const saved::Model& model) {
  for_each_signature(model, [](const std::string&, const saved::Signature& signature) {
    saved::instantiate(signature, {2, signature.most_steps});
    saved::check_examples(signature);
  });
}

}  // namespace

Signature inputs_like(const Features& batch, const std::vector<std::string>& names) {
  Signature inputs;
  auto add = [&](const std::string& name, const Array& value) {
    require(value.shape().rank() > 0, "inputs_like: `", name, "` is ", value.type(),
            ", which has no axis of rows");
    Shape shape(std::span(value.shape().begin() + 1, value.shape().end()));
    inputs.emplace_back(name, TensorType{shape, value.dtype()});
  };
  for (const auto& [name, value] : batch)
    if (names.empty()) add(name, value);
  for (const std::string& name : names) add(name, batch.at(name));
  return inputs;
}

std::string export_model(const std::string& dir, const ExportOptions& options) {
  require(!options.checkpoint.empty(),
          "export: there is no checkpoint; set ExportOptions::checkpoint");
  check(options);
  Checkpoint state = checkpoint_at(options.checkpoint);
  return with_context(concat("export of ", describe_checkpoint_at(options.checkpoint)),
                      [&] { return export_model(dir, options, state); });
}

std::string export_model(const std::string& dir, const ExportOptions& options,
                         const Checkpoint& state) {
  check(options);
  saved::Model model = record(options);
  model.step = state.step, model.seed = state.seed;
  NamedArrays weights = weights_of(model, state, options.averaged);
  return write_export_folder(dir, [&](const std::string& folder) {
    if (options.onnx) write_onnx(model, weights, folder);
    NamedArrays all = weights;
    std::string json = saved::to_json(model, all);
    // As it will be read, before anybody does.
    check_runs(saved::model_from_json(json, all));
    save_safetensors(folder + "/model.safetensors", all);
    write_file_atomically(folder + "/graph.json", json);
    copy_assets(options.assets, folder + "/assets");
  });
}

void check_export(const ExportOptions& options) { check_export(options, nullptr); }

void check_export(const ExportOptions& options, const KnownVariables* trained) {
  check(options);
  saved::Model model = record(options);
  std::vector<VariableOptions> variables = variables_of(model);  // may differ between signatures
  if (trained) {
    require_fit(variables, *trained, "what is trained");
    auto has_average = [&](const VariableOptions& variable) {
      return trained->contains(concat(variable.name, moving_average_suffix));
    };
    require_averages(!options.averaged || std::ranges::any_of(variables, has_average));
  }
  check_runs(model);
  if (options.onnx)
    for_each_signature(model, [](const std::string& name, const saved::Signature& signature) {
      onnx::check_convertible(signature, name);
    });
}

}  // namespace belfry
