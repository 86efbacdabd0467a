#include "belfry/models/gan/virtual_batch_norm.h"

#include "belfry/framework/layers/layer_support.h"

namespace belfry::gan {
namespace {

struct Statistics {
  Tensor mean, variance;  // axes kept
};

Tensor rows(Tensor x, std::int64_t first, std::int64_t count = -1) {
  std::vector<std::int64_t> begin(x.rank(), 0), size(begin.size(), -1);
  begin[0] = first, size[0] = count;
  return slice(x, {.begin = begin, .size = size});
}

// Over all axes but the last from `first_axis` on; a row of a matrix is its own mean.
Statistics statistics(Tensor x, int first_axis) {
  ReduceOptions over{.keep_dims = true};
  for (int axis = first_axis; axis < x.rank() - 1; ++axis) over.axes.push_back(axis);
  if (over.axes.empty()) return {x, constant(x.graph(), 0, x.dtype())};
  Tensor m = mean(x, over);
  return {m, mean(square(x - m), over)};
}

// The statistics of w parts of one and 1 - w of the other: around the common mean, which cancels
// nothing.
Statistics joined(const Statistics& own, const Statistics& reference, double w) {
  Tensor m = own.mean * w + reference.mean * (1 - w);
  auto around = [&](const Statistics& s) { return s.variance + square(s.mean - m); };
  return {m, around(own) * w + around(reference) * (1 - w)};
}

}  // namespace

Tensor virtual_batch_norm(const Scope& s, Tensor x, const VirtualBatchNormOptions& o) {
  layers::require_at(s, o.epsilon > 0, "virtual_batch_norm: epsilon must be above 0, got ",
                     o.epsilon);
  layers::require_features(s, "virtual_batch_norm", x, 2);
  layers::require_at(s, o.reference_rows >= 1 && o.reference_rows <= x.size(0),
                     "virtual_batch_norm: ", o.reference_rows, " rows of reference in ", x.type());
  Graph::PlacementGuard guard(s.graph(), s.placement());
  auto [scale, offset] = layers::affine(s, x, o.scale, o.center);
  Tensor wide = cast(x, layers::statistics_dtype(x));
  Tensor reference = rows(wide, 0, o.reference_rows), own = rows(wide, o.reference_rows);
  Statistics of_reference = statistics(reference, 0);
  Statistics of_own =
      joined(statistics(own, 1), of_reference, 1 / (static_cast<double>(o.reference_rows) + 1));
  auto normalized = [&](Tensor part, const Statistics& by) {
    return (part - by.mean) * rsqrt(by.variance + o.epsilon);
  };
  Tensor y = concat({normalized(reference, of_reference), normalized(own, of_own)}, 0);
  return cast(y * scale + offset, x.dtype());
}

Tensor with_reference_batch(const Array& reference, Tensor x,
                            const std::function<Tensor(Tensor)>& network) {
  require(network, "with_reference_batch: the network is empty; set a function");
  const Shape& shape = reference.shape();
  require(reference.dtype() == x.dtype() && shape.rank() == x.rank() && x.rank() >= 1
              && shape.with(0, x.size(0)) == x.shape(),
          "with_reference_batch: the reference is ", reference.type(), " but x is ", x.type());
  Tensor both = concat({constant(x.graph(), reference), x}, 0);
  return rows(network(both), shape[0]);
}

}  // namespace belfry::gan
