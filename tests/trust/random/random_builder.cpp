#include "random_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace belfry::random_models {

Shape random_factors(PhiloxStream& random, std::int64_t elements, int rank) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 1);
  for (std::int64_t prime = 2; rank > 0 && elements > 1;) {
    if (elements % prime) {
      ++prime;
      continue;
    }
    elements /= prime;
    sizes[random.below(static_cast<std::uint64_t>(rank))] *= prime;
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

std::int64_t Builder::draw_size() {
  static constexpr std::array<std::int64_t, 14> choices = {1, 1, 2, 3,  4,  5,  6,
                                                           7, 8, 8, 11, 13, 16, 32};
  return choices[static_cast<std::size_t>(below(choices.size()))];
}

std::int64_t Builder::divisor_of(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return all[static_cast<std::size_t>(below(std::ssize(all)))];
}

std::int64_t Builder::extent(const Shape& shape) const {
  std::int64_t out = 1;
  for (int axis = first_axis(); axis < shape.rank(); ++axis) out *= shape[axis];
  return out;
}

bool Builder::add(Tensor t, double size) {
  if (size > 3) {
    if (chance(0.3f)) {
      t = tanh(t), size = 1;
    } else {
      // A power of two: it rounds nothing.
      double factor = std::exp2(-std::ceil(std::log2(size / 2)));
      t = t * factor, size *= factor;
    }
  }
  values.push_back({t, size});
  return true;
}

bool Builder::add_whole(Tensor t) {
  whole.push_back(t);
  return true;
}

const Value& Builder::pick() {
  std::int64_t n = std::ssize(values);
  std::int64_t i = chance(0.6f) ? n - 1 - below(std::min<std::int64_t>(n, 3)) : below(n);
  return values[static_cast<std::size_t>(i)];
}

Value Builder::pick(int rank) {
  Value v = pick();
  if (v.tensor.rank() == rank) return v;
  if (!rows_apart) {
    v.tensor = reshape(v.tensor, random_factors(random, v.tensor.shape().elements(), rank));
    return v;
  }
  std::vector<std::int64_t> sizes{v.tensor.size(0)};
  Shape rest = random_factors(random, extent(v.tensor.shape()), rank - 1);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  v.tensor = reshape(v.tensor, sizes);
  return v;
}

Value Builder::pick_beside(const Tensor& like) {
  Value v = pick();
  v.tensor = match(v.tensor, like);
  return v;
}

Tensor Builder::match(Tensor t, const Tensor& like) {
  if (rows_apart && like.rank() == 1 && t.rank() > 1) {
    std::vector<int> rest(static_cast<std::size_t>(t.rank() - 1));
    std::iota(rest.begin(), rest.end(), 1);
    return max(t, {.axes = rest});
  }
  std::vector<std::int64_t> sizes = sizes_of(t);
  while (std::ssize(sizes) > like.rank()) {  // the last axes become one
    std::int64_t last = sizes.back();
    sizes.pop_back();
    if (sizes.empty()) return slice(reshape(t, {last}), {.begin = {0}, .size = {1}});
    sizes.back() *= last;
  }
  if (rows_apart)
    while (std::ssize(sizes) < like.rank()) sizes.insert(sizes.begin() + 1, 1);
  t = reshape(t, sizes);
  SliceOptions part{.begin = std::vector<std::int64_t>(sizes.size(), 0), .size = sizes};
  bool sliced = false;
  for (int back = 1; back <= t.rank(); ++back) {
    int axis = t.rank() - back;
    if (axis < first_axis()) break;
    std::int64_t have = t.size(axis), want = like.size(like.rank() - back);
    if (have == want || have == 1 || want == 1) continue;
    auto at = static_cast<std::size_t>(axis);
    part.size[at] = have > want ? want : 1;
    part.begin[at] = below(have - part.size[at] + 1);
    sliced = true;
  }
  return sliced ? slice(t, part) : t;
}

Tensor Builder::condition(const Tensor& like) {
  Tensor chosen = match(exact[static_cast<std::size_t>(below(std::ssize(exact)))].tensor, like);
  switch (below(4)) {
    case 0:
      return less(chosen, constant(scope, 0.25, chosen.dtype()));
    case 1:
      return greater_equal(chosen, constant(scope, -0.5, chosen.dtype()));
    case 2:
      return logical_not(equal(floor(chosen * 2), constant(scope, 0, chosen.dtype())));
    default:
      return logical_or(greater(chosen, constant(scope, 1, chosen.dtype())),
                        less_equal(chosen, constant(scope, 0, chosen.dtype())));
  }
}

Tensor Builder::biased(Tensor y) {
  std::int64_t last = y.rank() > first_axis() ? y.size(-1) : 1;
  static const std::array<int, 6> kinds = {0, 0, 0, 1, 2, 3};
  Shape shape{last};
  switch (kinds[static_cast<std::size_t>(below(kinds.size()))]) {
    case 1:
      shape = {1};
      break;
    case 2:
      shape = {};
      break;
    case 3:
      if (y.rank() > 1) shape = {1, last};
      break;
    default:
      break;
  }
  Variable bias = variable(next("bias"), concat("of", values.size()), shape);
  return chance(0.3f) ? bias + y : y + bias;
}

Variable Builder::variable(const Scope& s, std::string_view name, const Shape& shape, double size) {
  bool wide = s.graph().mixed_precision() && floating != DType::f64;
  DType dtype = wide ? DType::f32 : floating;
  return s.variable(name, {.shape = shape, .dtype = dtype, .initializer = uniform(-size, size)});
}

}  // namespace belfry::random_models
