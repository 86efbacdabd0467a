// Movements, and ops on whole numbers.

#include <algorithm>
#include <array>
#include <numeric>

#include "random_builder.h"

namespace belfry::random_models {
namespace {

Tensor moved_at_random(Builder& model, Tensor x);

bool draw_movement(Builder& model) {
  Value x = model.pick();
  Tensor y = moved_at_random(model, x.tensor);
  return y.defined() && model.add(y, x.size);
}

Tensor reshaped(Builder& model, Tensor x) {
  int rank = static_cast<int>(model.between(model.first_axis(), 5));
  if (model.extent(x.shape()) > 1) rank = std::max(rank, model.first_axis() + 1);
  std::vector<std::int64_t> sizes;
  if (model.rows_apart) sizes.push_back(x.size(0));
  Shape rest = random_factors(model.random, model.extent(x.shape()), rank - model.first_axis());
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return reshape(x, sizes);
}

Tensor transposed(Builder& model, Tensor x) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  for (int i = x.rank() - 1; i > model.first_axis(); --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(model.between(model.first_axis(), i))]);
  return transpose(x, order);
}

Tensor sliced(Builder& model, Tensor x) {
  SliceOptions part;
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t size = x.size(axis);
    if (axis < model.first_axis()) {
      part.begin.push_back(0), part.size.push_back(size), part.strides.push_back(1);
      continue;
    }
    std::int64_t stride = model.between(1, std::min<std::int64_t>(3, size));
    std::int64_t begin = model.chance(0.5f) ? 0 : model.below(size);
    part.begin.push_back(begin);
    part.strides.push_back(stride);
    part.size.push_back(model.between(1, (size - begin + stride - 1) / stride));
  }
  return slice(x, part);
}

Tensor padded(Builder& model, Tensor x) {
  PadOptions around{.value = is_floating(x.dtype()) ? 0.5 : 3};
  std::int64_t extent = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    bool apart = axis < model.first_axis();
    around.before.push_back(apart ? 0 : model.below(3));
    around.after.push_back(apart ? 0 : model.below(3));
    if (!apart) extent *= x.size(axis) + around.before.back() + around.after.back();
  }
  return model.small(extent) ? pad(x, around) : Tensor();
}

Tensor repeated(Builder& model, Tensor x) {
  std::vector<std::int64_t> repeats, sizes = model.sizes_of(x);
  std::int64_t extent = model.extent(x.shape());
  for (int axis = 0; axis < x.rank(); ++axis) {
    repeats.push_back(axis < model.first_axis() ? 1 : model.between(1, 3));
    extent *= repeats.back();
    if (sizes[static_cast<std::size_t>(axis)] == 1)
      sizes[static_cast<std::size_t>(axis)] = repeats.back();
  }
  if (!model.small(extent)) return {};
  if (model.chance(0.5f)) return tile(x, repeats);
  if (!model.rows_apart && x.rank() < 5) sizes.insert(sizes.begin(), 2);
  return broadcast_to(x, Shape(std::span<const std::int64_t>(sizes)));
}

// Concat of a value with itself, parts of itself, and what was made of it.
Tensor joined(Builder& model, Tensor x) {
  int axis = model.axis_of(x);
  if (!model.small(3 * model.extent(x.shape()))) return {};
  if (model.chance(0.3f))
    return stack({x, x}, static_cast<int>(model.between(model.first_axis(), x.rank())));
  std::int64_t size = x.size(axis);
  if (size > 1 && model.chance(0.5f)) {
    std::int64_t first = model.between(1, size - 1);
    std::vector<Tensor> parts = split(x, {first, size - first}, axis);
    return concat({parts[1], x, parts[0]}, axis);
  }
  return concat({x, is_floating(x.dtype()) ? tanh(x) : x + 1}, axis);
}

Tensor gathered(Builder& model, Tensor x) {
  int axis = model.axis_of(x);
  std::int64_t n = model.between(1, 5), size = x.size(axis);
  if (!model.small(model.extent(x.shape()) / size * n)) return {};
  bool matrix = model.chance(0.2f) && x.rank() < 5;
  Array indices(matrix ? Shape{1, n} : Shape{n}, DType::i64);
  for (std::int64_t& i : indices.span<std::int64_t>()) i = model.below(size);
  return gather(x, constant(model.scope, model.chance(0.3f) ? indices.cast(DType::i32) : indices),
                axis);
}

Tensor moved_at_random(Builder& model, Tensor x) {
  std::int64_t which = model.below(8);
  if (which == 0) return reshaped(model, x);
  if (!model.has_axis(x)) return {};
  switch (which) {
    case 1:
      return transposed(model, x);
    case 2:
      return sliced(model, x);
    case 3:
      return padded(model, x);
    case 4:
      return repeated(model, x);
    case 5:
      return joined(model, x);
    case 6:
      return flatten(x);
    default:
      return gathered(model, x);
  }
}

bool draw_concat_of_others(Builder& model) {
  Value a = model.pick(), b = model.pick_beside(a.tensor);
  if (!model.has_axis(a.tensor) || b.tensor.rank() != a.tensor.rank()) return false;
  Shape shape = broadcast(a.tensor.shape(), b.tensor.shape(), "random model");
  if (!model.small(3 * model.extent(shape))) return false;
  Tensor x = broadcast_to(a.tensor, shape), y = broadcast_to(b.tensor, shape);
  int axis = static_cast<int>(model.between(model.first_axis(), shape.rank() - 1));
  return model.add(model.chance(0.5f) ? concat({x, y}, axis) : stack({x, y, x}, axis),
                   std::max(a.size, b.size));
}

// ---- whole numbers

Tensor pick_whole(Builder& model) {
  return model.whole[static_cast<std::size_t>(model.below(std::ssize(model.whole)))];
}

bool draw_whole_elementwise(Builder& model) {
  Tensor a = pick_whole(model), b = cast(model.match(pick_whole(model), a), a.dtype());
  if (!model.small(model.extent(broadcast(a.shape(), b.shape(), "random model")))) return false;
  switch (model.below(10)) {
    case 0:
      return model.add_whole(a + b);
    case 1:
      return model.add_whole(a - b * 2);
    case 2:
      return model.add_whole(a * b + 1);
    case 3:
      return model.add_whole(a / maximum(b, constant(model.scope, 1, b.dtype())));
    case 4:
      return model.add_whole(minimum(a, b));
    case 5:
      return model.add_whole(clip(a, 0.5, 4.5));
    case 6:
      return model.add_whole(where(logical_and(less(a, b), not_equal(b, a)), a, b));
    case 7:
      return model.add_whole(abs(sign(neg(a)) - b));
    case 8:
      return model.add_whole(cast(a, model.chance(0.5f) ? DType::i32 : DType::u8));
    default:
      return model.add_whole(square(a) + cast(greater(a, b), a.dtype()));
  }
}

bool draw_whole_reduction(Builder& model) {
  Tensor x = pick_whole(model);
  if (!model.has_axis(x)) return false;
  ReduceOptions options{.axes = {model.axis_of(x)}, .keep_dims = model.chance(0.5f)};
  switch (model.below(5)) {
    case 0:
      return model.add_whole(sum(x, options));
    case 1:
      return model.add_whole(max(x, options));
    case 2:
      return model.add_whole(min(x, options));
    case 3:
      return model.add_whole(prod(x, options));
    default:
      return model.add_whole(argmax(x, options.axes[0]));
  }
}

bool draw_whole_movement(Builder& model) {
  Tensor y = moved_at_random(model, pick_whole(model));
  return y.defined() && model.add_whole(y);
}

// Indices from 0 to `limit` - 1.
Tensor indices_below(Builder& model, std::int64_t limit) {
  Tensor x = cast(pick_whole(model), model.chance(0.5f) ? DType::i64 : DType::i32);
  return clip(x, 0, static_cast<double>(limit - 1));
}

bool draw_floats_of_whole(Builder& model) {
  std::int64_t depth = model.between(1, 7);
  Tensor ids = indices_below(model, depth);
  if (ids.rank() > 4 || !model.small(model.extent(ids.shape()) * depth)) return false;
  switch (model.below(3)) {
    case 0:
      return model.add(cast(ids, model.floating), static_cast<double>(depth));
    case 1:
      return model.add(
          one_hot(ids, {.depth = depth, .on = 1.5, .off = -0.5, .dtype = model.floating}), 1.5);
    default: {
      Scope s = model.next("embedding");
      Variable table = model.variable(s, "table", {depth, model.between(1, 8)}, 0.5);
      return model.add(embedding_lookup(table, ids), 1);
    }
  }
}

constexpr std::array<Draw, 5> movements = {draw_movement, draw_movement, draw_movement,
                                           draw_movement, draw_concat_of_others};
constexpr std::array<Draw, 5> wholes = {draw_whole_elementwise, draw_whole_elementwise,
                                        draw_whole_reduction, draw_whole_movement,
                                        draw_floats_of_whole};

}  // namespace

std::span<const Draw> movement_draws() { return movements; }
std::span<const Draw> whole_draws() { return wholes; }

}  // namespace belfry::random_models
