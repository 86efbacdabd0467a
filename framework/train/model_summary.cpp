#include "belfry/framework/train/model_summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

namespace belfry {
namespace {

double flops_of(const Node& node) {
  if (node.op().flops) return node.op().flops(node);
  return node.op().elementwise ? static_cast<double>(node.output().shape.elements()) : 0;
}

std::vector<Tensor> results_of(const EstimatorSpec& spec, Mode mode) {
  std::vector<Tensor> out;
  if (mode == Mode::predict) {
    for (const auto& [name, prediction] : spec.predictions) out.push_back(prediction);
    return out;
  }
  out.push_back(spec.loss);
  if (mode == Mode::train)
    for (const Update& update : spec.train.list(spec.loss)) out.push_back(update.loss);
  return out;
}

// The nodes that the results need, in order: computing nodes of the forward pass.
std::vector<const Node*> forward_pass(const Graph& graph, const std::vector<Tensor>& results) {
  std::vector<bool> needed(graph.size());
  for (const Tensor& t : results) needed[t.node().id()] = true;
  for (std::size_t i = graph.size(); i-- > 0;)
    if (needed[i])
      for (const Tensor& t : graph.node(i).inputs()) needed[t.node().id()] = true;
  std::vector<const Node*> out;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (const Node& node = graph.node(i);
        needed[i] && !is_leaf(node) && node.phase() == Phase::forward)
      out.push_back(&node);
  return out;
}

// Rows by scope, in the order in which they are asked for.
class Layers {
 public:
  explicit Layers(std::vector<LayerSummary>& list) : list_(list) {}
  LayerSummary& operator[](const std::string& scope) {
    auto [found, fresh] = at_.try_emplace(scope, list_.size());
    if (fresh) list_.push_back({.scope = scope});
    return list_[found->second];
  }

 private:
  std::vector<LayerSummary>& list_;
  std::map<std::string, std::size_t> at_;
};

// A flattened image is still that image: the view's input, if it has the rows of the batch too.
Tensor without_views(Tensor t, std::int64_t rows) {
  while (t.node().op().view) {
    const Tensor& viewed = t.node().input(0);
    if (is_leaf(viewed.node()) || viewed.rank() == 0 || viewed.size(0) != rows) break;
    t = viewed;
  }
  return t;
}

// By scope, the last value that another scope reads.
std::map<std::string, Tensor> handed_on(const std::vector<const Node*>& nodes) {
  std::map<std::string, Tensor> out;
  for (const Node* node : nodes)
    for (const Tensor& t : node->inputs()) {
      if (is_leaf(t.node()) || t.node().scope() == node->scope()) continue;
      Tensor& last = out[t.node().scope()];
      if (!last.defined() || last.node().id() < t.node().id()) last = t;
    }
  return out;
}

// All nodes of one op in one scope: their work, and what the last of them makes.
struct OpWork {
  double flops = 0;
  TensorType output = {};
};

void add_work(const std::vector<const Node*>& nodes, ModelSummary& out, Layers& layers) {
  double rows = std::max<std::int64_t>(out.rows, 1);
  std::map<std::string, Tensor> outputs = handed_on(nodes);
  std::map<std::string, std::map<std::string, OpWork>> work;  // by scope and name
  for (const Node* node : nodes) {
    if (node->op().view) continue;
    LayerSummary& layer = layers[node->scope()];
    double flops = flops_of(*node) / rows;
    layer.flops += flops;
    out.flops += flops;
    std::string name(node->op().name);
    auto [op, first] = work[layer.scope].try_emplace(name);
    if (first) layer.ops.push_back(name);
    op->second.flops += flops;
    op->second.output = node->output();
  }
  for (LayerSummary& layer : out.layers) {
    auto& done = work.at(layer.scope);
    auto most = std::ranges::max_element(
        layer.ops, {}, [&](const std::string& name) { return done.at(name).flops; });
    auto found = outputs.find(layer.scope);
    layer.output = found == outputs.end() ? done.at(*most).output
                                          : without_views(found->second, out.rows).type();
    std::rotate(layer.ops.begin(), most, most + 1);
  }
}

std::set<const Node*> trained_variables(const EstimatorSpec& spec) {
  std::set<const Node*> out;
  for (const Update& update : spec.train.list(spec.loss))
    for (const Variable& variable : update.variables) out.insert(&variable.node());
  return out;
}

void add_variables(const Graph& graph, const EstimatorSpec& spec, ModelSummary& out,
                   Layers& layers) {
  bool training = out.mode == Mode::train;
  std::set<const Node*> trained;
  if (training) trained = trained_variables(spec);
  for (const Node* node : graph.variables()) {
    const auto& variable = node->as<VariableOptions>();
    std::int64_t elements = variable.type.shape.elements(), bytes = variable.type.bytes();
    auto add = [&](VariableCount& to) { to.elements += elements, to.bytes += bytes; };
    if (variable.kind == VariableKind::statistic) add(out.statistics);
    if (variable.kind != VariableKind::parameter) continue;
    LayerSummary& layer = layers[node->scope()];
    add(out.parameters);
    layer.parameters += elements;
    if (!training || trained.contains(node)) continue;
    add(out.not_trained);
    layer.not_trained += elements;
  }
}

// ---- the table

std::string with_commas(std::int64_t number) {
  std::string digits = text(number);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

// Three digits: "8.18G".
std::string short_number(double value) {
  constexpr std::array units{"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
  int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f%s", decimals, value, units[unit]);
  return buffer.data();
}

std::string shape_text(const Shape& shape, std::int64_t rows) {
  std::vector<std::string> sizes;
  for (int axis = 0; axis < shape.rank(); ++axis)
    sizes.push_back(axis == 0 && shape[axis] == rows ? "n" : text(shape[axis]));
  return concat("[", join(sizes, ", "), "]");
}

// As many as fit; of the first, what fits.
std::string ops_text(const std::vector<std::string>& ops, std::size_t width) {
  std::string out;
  for (const std::string& op : ops) {
    std::string more = out.empty() ? op : concat(out, ", ", op);
    if (more.size() > width) break;
    out = more;
  }
  return out.empty() && !ops.empty() ? ops[0].substr(0, width - 2) + ".." : out;
}

std::string left(std::string s, std::size_t width) {
  s.resize(std::max(s.size(), width), ' ');
  return s + "  ";
}
std::string right(const std::string& s, std::size_t width) {
  return std::string(width - std::min(width, s.size()), ' ') + s;
}

std::string count_text(const VariableCount& count) {
  return concat(with_commas(count.elements), ", ", bytes_text(count.bytes));
}

std::string totals(const ModelSummary& s) {
  std::string trained = s.mode != Mode::train ? ""
                        : s.not_trained.elements == 0
                            ? ", all of them trained"
                            : concat("; * of them not trained: ", count_text(s.not_trained));
  std::string statistics =
      s.statistics.elements == 0 ? "" : concat("statistics: ", count_text(s.statistics), "\n");
  return concat("parameters: ", count_text(s.parameters), trained, "\n", statistics,
                "forward pass (", s.mode, "): ", short_number(s.flops),
                " FLOPs an example; a multiply and an add are two\n");
}

}  // namespace

ModelSummary summarize(const ModelFn& model_fn, Mode mode, const Signature& signature) {
  Graph graph;
  Batch batch(graph, signature);
  EstimatorSpec spec =
      with_context(concat("while building the ", mode, " model for ", to_string(signature)), [&] {
        EstimatorSpec built = model_fn(Scope(graph), batch, mode);
        validate(built, mode);
        return built;
      });
  ModelSummary out{.mode = mode, .rows = batch.rows()};
  Layers layers(out.layers);
  add_work(forward_pass(graph, results_of(spec, mode)), out, layers);
  add_variables(graph, spec, out, layers);
  return out;
}

std::string to_string(const ModelSummary& s) {
  constexpr std::size_t columns = 80, memory = 9, counts = 11, work = 8, least = 8;
  std::size_t path = 5, shape = 6;
  std::vector<std::string> shapes;
  for (const LayerSummary& layer : s.layers) {
    shapes.push_back(layer.ops.empty() ? "" : shape_text(layer.output.shape, s.rows));
    path = std::max(path, layer.scope.size());
    shape = std::max(shape, shapes.back().size());
  }
  std::size_t taken = path + shape + memory + counts + work + 6;  // with the spaces between them
  std::size_t room = taken + least < columns ? columns - taken : least, op = 3;
  std::vector<std::string> ops;
  for (const LayerSummary& layer : s.layers) {
    ops.push_back(ops_text(layer.ops, room));
    op = std::max(op, ops.back().size());
  }
  auto line = [&](const std::string& scope, const std::string& ops, const std::string& output,
                  const std::string& bytes, const std::string& parameters,
                  const std::string& flops) {
    std::string all = left(scope, path) + left(ops, op) + left(output, shape) + right(bytes, memory)
                      + right(parameters, counts) + right(flops, work);
    return all.substr(0, all.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = line("layer", "ops", "output", "size", "parameters", "FLOPs");
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    const LayerSummary& layer = s.layers[i];
    std::string parameters = layer.parameters == 0 ? "" : with_commas(layer.parameters);
    if (layer.not_trained > 0) parameters += "*";
    const Shape& output = layer.output.shape;
    bool of_rows = s.rows > 0 && output.rank() > 0 && output[0] % s.rows == 0;
    std::int64_t bytes = layer.output.bytes() / (of_rows ? s.rows : 1);
    out += line(layer.scope.empty() ? "(root)" : layer.scope, ops[i], shapes[i],
                layer.ops.empty() ? "" : bytes_text(bytes), parameters,
                layer.flops > 0 ? short_number(layer.flops) : "");
  }
  return out + totals(s);
}

}  // namespace belfry
