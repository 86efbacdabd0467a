#include "run_graph.h"

#include <cstring>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {
namespace {

constexpr std::int64_t most_elements = 4096;
constexpr double most_flops = 1e6;

bool is_small(const Graph& graph) {
  std::int64_t elements = 0;
  double flops = 0;
  for (const auto& node : graph) {
    for (const TensorType& type : node->outputs()) elements += type.shape.elements();
    if (node->op().flops) flops += node->op().flops(*node);
    if (elements > most_elements || !(flops <= most_flops)) return false;
  }
  return true;
}

// -4, -3, ... 4 and again, or what comes closest.
Array some_numbers(const TensorType& type) {
  Array out({type.shape.elements()}, DType::f64);
  double number = -4;
  for (double& to : out.span<double>()) {
    to = number;
    number = number == 4 ? -4 : number + 1;
  }
  return out.reshape(type.shape).cast(type.dtype);
}

}  // namespace

void run_if_small(const Graph& graph) {
  if (!is_small(graph)) return;
  std::vector<std::vector<Array>> results;
  for (const auto& node : graph) {
    std::vector<ArrayView> inputs, outputs;
    for (const Tensor& t : node->inputs())
      inputs.push_back(
          {t.type(), results[t.node().id()][static_cast<std::size_t>(t.index())].raw()});
    std::vector<Array>& made = results.emplace_back();
    for (const TensorType& type : node->outputs()) {
      made.push_back(node->op().reference ? Array(type) : some_numbers(type));
      outputs.push_back({type, made.back().raw()});
    }
    if (node->is(constant_op)) made[0] = node->as<ConstantOptions>().value;
    if (node->op().reference)
      node->op().reference({node->op().name, inputs, outputs, node->options()});
  }
}

}  // namespace belfry
