#include "belfry/framework/train/model/sparse_tower_sum.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

// Looked-up rows: whether their number follows the batch's.
bool depends_on_batch(const Tensor& indices) {
  const Graph& graph = indices.graph();
  auto live = live_nodes(graph, std::span(&indices, 1), {});
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i] && graph.node(i).is(input_op)
        && !graph.node(i).as<InputOptions>().name.starts_with("run/"))
      return true;
  return false;
}

// Whether these are the numbers of an input with so many rows, and nothing else.
bool is_feature(const Tensor& indices, std::int64_t rows) {
  const Node& node = indices.node();
  if (node.is(reshape_op) || node.is(cast_op)) return is_feature(node.input(0), rows);
  return node.is(input_op) && indices.rank() > 0 && indices.size(0) == rows;
}

// The look-ups whose gradients add up to this one; empty when it is made of anything else.
std::vector<const Node*> lookups(const Tensor& gradient) {
  const Node& node = gradient.node();
  if (node.is(gather_grad_op)) {
    bool fits = node.as<GatherGradOptions>().axis == 0 && node.input(1).rank() > 0
                && depends_on_batch(node.input(1));
    return fits ? std::vector{&node} : std::vector<const Node*>{};
  }
  if (!node.is(functor::Add::op) || node.input(0).type() != node.input(1).type()) return {};
  std::vector<const Node*> a = lookups(node.input(0)), b = lookups(node.input(1));
  if (a.empty() || b.empty()) return {};
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensor joined(std::vector<Tensor> parts) {
  return parts.size() == 1 ? parts[0] : concat(std::move(parts), 0);
}

// x [n, ...] at the tower's place among [towers * most, ...], zeros elsewhere.
Tensor at_own_offset(Tensor x, std::int64_t most) {
  Graph& graph = x.graph();
  Array numbers(Shape{x.size(0)}, DType::i64);
  std::iota(numbers.span<std::int64_t>().begin(), numbers.span<std::int64_t>().end(), 0);
  Tensor offsets = tower_index(graph) * most + constant(graph, numbers);
  return apply1(gather_grad_op, {x, offsets},
                GatherGradOptions{.shape = x.shape().with(0, graph.towers() * most), .axis = 0});
}

}  // namespace

bool sums_sparsely(const Tensor& gradient, const SparseRows& rows) {
  if (!rows.alike) return false;
  std::int64_t count = 0;
  for (const Node* node : lookups(gradient)) {
    if (!rows.even && !is_feature(node->input(1), rows.own)) return false;
    count += node->input(1).shape().elements();
  }
  if (count == 0 || rows.own == 0 || count % rows.own != 0) return false;
  return gradient.graph().towers() * (count / rows.own * rows.most) * 2 <= gradient.shape()[0];
}

Tensor own_part(Tensor x, const SparseRows& rows) {
  return rows.own > 1 ? x : zero_without_rows(x);
}

Tensor sparse_tower_sum(const Tensor& gradient, const SparseRows& rows) {
  const Shape& table = gradient.shape();
  std::vector<Tensor> values, indices;
  for (const Node* node : lookups(gradient)) {
    std::int64_t count = node->input(1).shape().elements();
    values.push_back(reshape(node->input(0), table.with(0, count)));
    indices.push_back(cast(reshape(node->input(1), Shape{count}), DType::f64));
  }
  Tensor value = joined(std::move(values)), index = joined(std::move(indices));
  std::int64_t most = value.size(0) / rows.own * rows.most;
  value = tower_sum(at_own_offset(own_part(value, rows), most));
  // Indices below 2^53 are exact as doubles.
  index = tower_sum(at_own_offset(index, most));
  return apply1(gather_grad_op, {value, cast(index, DType::i64)},
                GatherGradOptions{.shape = table, .axis = 0});
}

}  // namespace belfry
