#include "belfry/framework/tensor/permute.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace belfry {

Array permute(const Array& array, std::span<const std::int64_t> order) {
  std::size_t rank = array.shape().rank();
  std::vector<std::int64_t> axes(rank), strides(rank, 1), sizes(rank), steps(rank), at(rank, 0);
  std::iota(axes.begin(), axes.end(), 0);
  require(std::is_permutation(axes.begin(), axes.end(), order.begin(), order.end()),
          "permute: ", join(order, ", "), " is no order of the ", rank, " axes of ", array.type());
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * array.shape()[i];
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = array.shape()[order[i]];
    steps[i] = strides[order[i]];
  }
  Array out(Shape(std::span<const std::int64_t>(sizes)), array.dtype());
  std::size_t size = size_of(array.dtype());
  const auto* from = static_cast<const std::byte*>(array.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (std::int64_t element = 0, offset = 0; element < out.elements(); ++element, to += size) {
    std::memcpy(to, from + offset * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      offset += steps[axis];
      if (++at[axis] < sizes[axis]) break;
      offset -= steps[axis] * sizes[axis];
      at[axis] = 0;
    }
  }
  return out;
}

}  // namespace belfry
