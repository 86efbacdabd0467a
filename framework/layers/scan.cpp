#include "belfry/framework/layers/scan.h"

#include <string_view>
#include <utility>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

/// `there` [n, ...] for the rows in which a step counts, else `otherwise`.
Tensor where_counts(const Tensor& counts, const Tensor& there, const Tensor& otherwise) {
  std::vector<std::int64_t> sizes(there.rank(), 1);
  sizes[0] = counts.size(0);
  return where(reshape(counts, sizes), there, otherwise);
}

void check_states(const Scope& s, std::span<const Tensor> before, std::span<const Tensor> behind) {
  layers::require_at(s, before.size() == behind.size(), "scan: the cell takes ", before.size(),
                     " states and gives ", behind.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    layers::require_at(s, before[i].type() == behind[i].type(), "scan: state ", i, " is ",
                       before[i].type(), " before a step and ", behind[i].type(), " behind it");
}

void check_rows(const Scope& s, std::string_view what, const Tensor& x, std::int64_t n) {
  layers::require_at(s, x.rank() >= 1 && x.size(0) == n, "scan: ", what, " must be [", n,
                     ", ...], got ", x.type());
}

/// i64, each checked when the step runs.
Tensor checked_lengths(const Scope& s, const Tensor& lengths, std::int64_t n, std::int64_t t) {
  bool counts = lengths.dtype() == DType::i32 || lengths.dtype() == DType::i64;
  layers::require_at(s, counts && lengths.shape() == Shape({n}),
                     "scan: lengths must be i32 or i64 [", n, "], got ", lengths.type());
  return check_range(cast(lengths, DType::i64), 0, static_cast<double>(t),
                     {.what = "scan: lengths", .remedy = "they count the steps of a row"});
}

}  // namespace

ScanResult scan(const Scope& s, const ScanCell& cell, Tensor x, std::vector<Tensor> initial,
                const ScanOptions& o) {
  require_defined("scan", {x});
  for (const Tensor& state : initial) require_defined("scan", {state});
  layers::require_at(s, cell != nullptr, "scan: there is no cell");
  layers::require_at(s, x.rank() >= 2 && x.size(1) >= 1,
                     "scan: x must be [n, t, ...], t not 0, got ", x.type());
  Graph::PlacementGuard guard(s.graph(), s.placement());
  std::int64_t n = x.size(0), t = x.size(1);
  std::vector<std::int64_t> step_sizes(x.shape().begin() + 1, x.shape().end());
  step_sizes[0] = n;
  std::vector<Tensor> steps = split(x, static_cast<int>(t), 1), results(t);
  for (const Tensor& state : initial) check_rows(s, "a state", state, n);
  Tensor lengths = o.lengths.defined() ? checked_lengths(s, o.lengths, n, t) : Tensor();
  ScanResult out;
  out.states = std::move(initial);
  for (std::int64_t i = 0; i < t; ++i) {
    std::int64_t step = o.reverse ? t - 1 - i : i;
    auto [y, states] = cell(i == 0 ? s : s.shared(), reshape(steps[step], step_sizes), out.states);
    check_states(s, out.states, states);
    check_rows(s, "what a step gives", y, n);
    if (lengths.defined()) {
      Tensor counts = greater(lengths, constant(s, static_cast<double>(step), DType::i64));
      y = where_counts(counts, y, constant(s, 0, y.dtype()));
      for (std::size_t k = 0; k < states.size(); ++k)
        states[k] = where_counts(counts, states[k], out.states[k]);
    }
    results[step] = y;
    out.states = std::move(states);
  }
  out.y = stack(std::move(results), 1);
  return out;
}

}  // namespace belfry
