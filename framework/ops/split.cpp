#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

std::vector<Tensor> split(Tensor x, std::vector<std::int64_t> sizes, int axis) {
  require_defined("split", {x});
  axis = normalize_axis(axis, x.rank(), "split");
  std::int64_t total = 0;
  for (std::int64_t size : sizes) {
    require(size >= 0, "split: a piece has the negative size ", size);
    total += size;
  }
  require(total == x.size(axis), "split: the sizes [", join(sizes, ", "), "] add up to ", total,
          " but axis ", axis, " of ", x.type(), " has size ", x.size(axis));
  SliceOptions piece{.begin = std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), 0),
                     .size = std::vector<std::int64_t>(x.shape().begin(), x.shape().end())};
  std::vector<Tensor> pieces;
  auto a = static_cast<std::size_t>(axis);
  for (std::int64_t size : sizes) {
    piece.size[a] = size;
    pieces.push_back(slice(x, piece));
    piece.begin[a] += size;
  }
  return pieces;
}

std::vector<Tensor> split(Tensor x, int pieces, int axis) {
  require_defined("split", {x});
  axis = normalize_axis(axis, x.rank(), "split");
  require(pieces >= 1 && x.size(axis) % pieces == 0, "split: axis ", axis, " of ", x.type(),
          " has size ", x.size(axis), ", which cannot be split into ", pieces, " equal pieces");
  return split(
      x, std::vector<std::int64_t>(static_cast<std::size_t>(pieces), x.size(axis) / pieces), axis);
}

}  // namespace belfry
