#include "belfry/models/gan/tensor_pool.h"

#include <numeric>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

constexpr DType whole = DType::i64;

Tensor whole_number(Graph& graph, std::int64_t value) {
  return constant(graph, Array::scalar(value));
}

Tensor counting(Graph& graph, std::int64_t count) {  // 0, 1, ...
  Array numbers(Shape{count}, whole);
  std::iota(numbers.span<std::int64_t>().begin(), numbers.span<std::int64_t>().end(), 0);
  return constant(graph, numbers);
}

// [k] as [k, 1, ...], to stand beside x [k, ...].
Tensor beside(Tensor column, const Tensor& x) {
  std::vector<std::int64_t> sizes(x.rank(), 1);
  sizes[0] = column.size(0);
  return reshape(column, sizes);
}

// Whether all elements are: 0 * x is NaN where x is not. A pool that took such rows would return
// them for long, and where steps with such numbers are skipped its `count` would go on alone.
Tensor finite(const std::vector<Tensor>& tensors) {
  Graph& graph = tensors[0].graph();
  Tensor total = constant(graph, 0, DType::f32);
  for (const Tensor& x : tensors) total = total + cast(sum(stop_gradient(x) * 0), DType::f32);
  return equal(total, constant(graph, 0, DType::f32));
}

// The rows of a call over all towers, numbered from 0.
struct Rows {
  Tensor numbers = {};  // i64 [n]: of this tower's
  Tensor first = {};    // i64 []: of them
  Tensor all = {};      // i64 []: how many there are
  Tensor count = {};    // bool []: whether this tower's do
  Tensor tower = {};    // i64 [towers]: one at this tower's place; undefined: it is alone
};

Rows rows_of(const std::vector<Tensor>& tensors) {
  Graph& graph = tensors[0].graph();
  std::int64_t n = tensors[0].size(0);
  Rows rows{.count = finite(tensors)};
  if (graph.towers() > 1) rows.count = logical_and(rows.count, tower_has_rows(graph));
  Tensor own = cast(rows.count, whole) * n;
  if (graph.towers() == 1) {
    rows.numbers = counting(graph, n), rows.first = whole_number(graph, 0), rows.all = own;
    return rows;
  }
  rows.tower = one_hot(tower_index(graph), {.depth = graph.towers(), .dtype = whole});
  Tensor counts = tower_sum(rows.tower * own);
  Tensor before = less(counting(graph, graph.towers()), tower_index(graph));
  rows.first = sum(where(before, counts, whole_number(graph, 0)));
  rows.all = sum(counts);
  rows.numbers = rows.first + counting(graph, n);
  return rows;
}

// The row that each place of the pool is given.
struct PoolRows {
  Tensor written;  // bool [size]: whether there is one
  Tensor mine;     // bool [size]: whether it is a row of this tower
  Tensor row;      // i64 [size]: which row it is, where it is mine
};

// `targets`, i64 [n], are the places that the rows go to; those that are none go nowhere.
PoolRows pool_rows_of(Tensor targets, const Rows& rows, std::int64_t size) {
  Graph& graph = targets.graph();
  Tensor zero = whole_number(graph, 0);
  Tensor goes = one_hot(targets, {.depth = size, .dtype = whole});  // [n, size]
  Tensor last = max(goes * reshape(rows.numbers + 1, {-1, 1}), {.axes = {0}});
  Tensor last_of_all = last;
  if (rows.tower.defined())
    last_of_all =
        max(tower_sum(reshape(rows.tower, {-1, 1}) * reshape(last, {1, size})), {.axes = {0}});
  Tensor written = greater(last_of_all, zero);
  return {written, logical_and(written, equal(last, last_of_all)),
          maximum(last - (rows.first + 1), zero)};
}

// The rows `before` with those of x at their places.
Tensor stored(Tensor before, Tensor x, const PoolRows& pool_rows, bool alone) {
  Tensor rows = gather(x, pool_rows.row);  // [size, ...]
  if (!alone)
    rows = tower_sum(where(beside(pool_rows.mine, x), rows, constant(x.graph(), 0, x.dtype())));
  return where(beside(pool_rows.written, x), rows, before);
}

void check(const TensorPoolOptions& o) {
  require(o.size >= 1, "tensor_pool: the size must be at least 1, got ", o.size);
  require(o.probability >= 0 && o.probability <= 1,
          "tensor_pool: the probability must be in [0, 1], got ", o.probability);
}

void check(const Scope& s, const std::vector<Tensor>& tensors) {
  layers::require_at(s, !tensors.empty(), "tensor_pool: no tensors");
  for (const Tensor& x : tensors)
    layers::require_at(s, x.rank() >= 1 && x.size(0) == tensors[0].size(0),
                       "tensor_pool: ", x.type(), " beside ", tensors[0].type(),
                       "; expected as many rows");
}

}  // namespace

std::vector<Tensor> tensor_pool(const Scope& s, std::vector<Tensor> tensors,
                                const TensorPoolOptions& o) {
  check(o);
  check(s, tensors);
  Graph& graph = s.graph();
  Graph::PlacementGuard guard(graph, s.placement());
  std::int64_t n = tensors[0].size(0);
  if (n == 0) return tensors;
  // The first tower's assignments count, as all towers assign the same.
  auto kept = [&](std::string_view name, const Shape& shape, DType dtype) {
    return s.variable(name, {.shape = shape,
                             .dtype = dtype,
                             .kind = VariableKind::statistic,
                             .over_towers = OverTowers::first});
  };
  Variable count = kept("count", {}, whole);
  Tensor had = layers::pending_value(count), size = whole_number(graph, o.size);
  Rows rows = rows_of(tensors);

  Tensor full = greater_equal(had, size);
  Tensor drawn = cast(random_uniform(s, {n}, 0, o.size), whole);
  Tensor probability = constant(graph, o.probability, DType::f32);
  Tensor exchanged = logical_and(full, less(random_uniform(s, {n}), probability));
  Tensor nowhere = whole_number(graph, -1);
  Tensor targets = where(full, where(exchanged, drawn, nowhere), had + rows.numbers);
  targets = where(rows.count, targets, nowhere);
  PoolRows pool_rows = pool_rows_of(targets, rows, o.size);

  std::vector<Tensor> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    Variable pool = kept(concat("rows", i), x.shape().with(0, o.size), x.dtype());
    Tensor before = layers::pending_value(pool);
    out.push_back(where(beside(exchanged, x), gather(before, drawn), x));
    // A later call of this step reads it, and may not train through it.
    assign(pool, stored(before, stop_gradient(x), pool_rows, graph.towers() == 1));
  }
  assign(count, minimum(had + rows.all, size));
  return out;
}

Tensor tensor_pool(const Scope& s, Tensor x, const TensorPoolOptions& o) {
  return tensor_pool(s, std::vector{x}, o)[0];
}

Loss with_tensor_pool(Loss loss, const TensorPoolOptions& o) {
  require_set("with_tensor_pool", loss);
  check(o);
  auto discriminator = [own = loss.discriminator, o](const GanModel& m) {
    if (!m.training) return own(m);
    GanModel pooled = m;
    pooled.generated = tensor_pool(m.scope / "discriminator" / "tensor_pool", m.generated, o);
    pooled.generated_logits = m.discriminator(pooled.generated);
    return own(pooled);
  };
  return {.generator = std::move(loss.generator), .discriminator = discriminator};
}

}  // namespace belfry::gan
