#include <cstring>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  std::vector<TensorType> out(c.inputs.begin(), c.inputs.end());
  for (const TensorType& type : out)
    require(type.dtype == out[0].dtype && type.dtype != DType::boolean && type.dtype != DType::u8,
            c.op, ": expected tensors of one floating or signed type, got ", join(out, ", "));
  return out;
}

Tensor zeros_like(Tensor x) { return broadcast_to(constant(x.graph(), 0, x.dtype()), x.shape()); }

// With y = sum over towers of x, and L the sum over towers of a loss that depends on y, dL/dx is
// the sum over towers of dL/dy.
std::vector<Tensor> gradient(const GradContext& c) {
  std::vector<Tensor> dy;
  for (int i = 0; i < c.input_count(); ++i)
    dy.push_back(c.dy(i).defined() ? c.dy(i) : zeros_like(c.input(i)));
  return tower_sum(std::move(dy), c.as<AllReduceOptions>().name + "_grad");
}

void reference(const KernelContext& c) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (std::size_t bytes = c.inputs[i].type.bytes(); bytes > 0)
      std::memmove(c.outputs[i].data, c.inputs[i].data, bytes);
}

}  // namespace

const OpDef all_reduce_op{.name = "all_reduce",
                          .shape = shape_rule,
                          .gradient = gradient,
                          .reference = reference,
                          .collective = true};

Tensor tower_has_rows(Graph& graph) {
  return greater(tower_weight(graph), constant(graph, 0, DType::f64));
}

Tensor zero_without_rows(Tensor x) {
  // On x's device, not on that of the condition.
  Graph::PlacementGuard guard(x.graph(), x.graph().default_placement(std::span(&x, 1)));
  return where(tower_has_rows(x.graph()), x, constant(x.graph(), 0, x.dtype()));
}

std::vector<Tensor> tower_sum(std::vector<Tensor> tensors, std::string name) {
  if (tensors.empty() || tensors[0].graph().towers() == 1) return tensors;
  return outputs_of(apply(all_reduce_op, std::move(tensors), AllReduceOptions{std::move(name)}));
}

Tensor tower_sum(Tensor x) { return tower_sum(std::vector{x})[0]; }

std::vector<Tensor> tower_mean(std::vector<Tensor> tensors, std::string name) {
  if (tensors.empty() || tensors[0].graph().towers() == 1) return tensors;
  for (Tensor& t : tensors) t = zero_without_rows(t * cast(tower_weight(t.graph()), t.dtype()));
  return tower_sum(std::move(tensors), std::move(name));
}

Tensor tower_mean(Tensor x) { return tower_mean(std::vector{x})[0]; }

}  // namespace belfry
