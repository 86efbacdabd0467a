// Elementwise ops and reductions.

#include <algorithm>
#include <array>
#include <cmath>

#include "random_builder.h"

namespace belfry::random_models {
namespace {

struct Unary {
  Tensor (*apply)(Tensor x);
  double (*size)(double of);
};

double same(double of) { return of; }
double one(double) { return 1; }
double by_two(double of) { return 2 * of; }

constexpr std::array unary{
    Unary{neg, same},
    Unary{abs, same},
    Unary{exp, [](double of) { return std::exp(of); }},
    Unary{expm1, [](double of) { return std::exp(of); }},
    Unary{square, [](double of) { return of * of; }},
    Unary{erf, one},
    Unary{sigmoid, one},
    Unary{tanh, one},
    Unary{relu, same},
    Unary{silu, same},
    Unary{[](Tensor x) { return log(square(x) + 0.5); }, by_two},
    Unary{[](Tensor x) { return log1p(square(x)); }, same},
    Unary{[](Tensor x) { return sqrt(square(x) + 0.25); }, same},
    Unary{[](Tensor x) { return rsqrt(square(x) + 0.25); }, [](double) { return 2.0; }},
    Unary{[](Tensor x) { return reciprocal(square(x) + 0.5); }, [](double) { return 2.0; }},
    Unary{[](Tensor x) { return leaky_relu(x, {.alpha = 0.125f}); }, same},
    Unary{[](Tensor x) { return elu(x, {.alpha = 1.5f}); }, by_two},
    Unary{[](Tensor x) { return gelu(x); }, same},
    Unary{[](Tensor x) { return gelu(x, {.approximate = true}); }, same},
    Unary{[](Tensor x) { return softplus(x, {.beta = 2}); }, same},
    Unary{[](Tensor x) { return clip(x, -0.75, 1.25); }, one},
    Unary{[](Tensor x) { return 1.5 - x * 0.5; }, [](double of) { return 1.5 + of / 2; }},
    Unary{[](Tensor x) { return 2 / (x * x + 1); }, [](double) { return 2.0; }},
    Unary{[](Tensor x) { return (x + 0.5) / 4 - 1; }, same},
    Unary{[](Tensor x) { return x * 1.0 + x / 1.0 - 0.0; }, by_two},  // what folding takes away
};

bool draw_unary(Builder& model) {
  Value x = model.pick();
  const Unary& op = unary[static_cast<std::size_t>(model.below(unary.size()))];
  return model.add(op.apply(x.tensor), op.size(x.size));
}

bool draw_binary(Builder& model) {
  Value a = model.pick(), b = model.pick_beside(a.tensor);
  if (!model.small(model.extent(broadcast(a.tensor.shape(), b.tensor.shape(), "random model"))))
    return false;
  if (model.chance(0.3f)) std::swap(a, b);
  Tensor x = a.tensor, y = b.tensor;
  switch (model.below(8)) {
    case 0:
      return model.add(x + y, a.size + b.size);
    case 1:
      return model.add(x - y, a.size + b.size);
    case 2:
    case 3:
      return model.add(x * y, a.size * b.size);
    case 4:
      return model.add(x / (square(y) + 0.5), 2 * a.size);
    case 5:
      return model.add(pow(softplus(x) + 0.5, y), std::pow(a.size + 1.5, b.size));
    case 6:
      return model.add(minimum(x, y), std::max(a.size, b.size));
    default:
      return model.add(maximum(x, y), std::max(a.size, b.size));
  }
}

bool draw_where(Builder& model) {
  Value a = model.pick(), b = model.pick_beside(a.tensor);
  Shape shape = broadcast(a.tensor.shape(), b.tensor.shape(), "random model");
  if (!model.small(model.extent(shape))) return false;
  Tensor sum_of_both = a.tensor + b.tensor;
  return model.add(where(model.condition(sum_of_both), a.tensor, sum_of_both), a.size + b.size);
}

// Two ways to write the same, which become one.
bool draw_twice(Builder& model) {
  Value a = model.pick(), b = model.pick_beside(a.tensor);
  if (!model.small(model.extent(broadcast(a.tensor.shape(), b.tensor.shape(), "random model"))))
    return false;
  Tensor x = tanh(a.tensor * b.tensor), y = tanh(b.tensor * a.tensor);
  return model.add(x * sigmoid(y), 1);
}

// The values of an input, with what has no gradient.
bool draw_exact(Builder& model) {
  Tensor x = model.exact[static_cast<std::size_t>(model.below(std::ssize(model.exact)))].tensor;
  switch (model.below(5)) {
    case 0:
      return model.add(floor(x * 4), 6);
    case 1:
      return model.add(sign(x - 0.25), 1);
    case 2:
      return model.add(stop_gradient(exp(x)), 5);
    case 3:
      return model.add(cast(less(x, constant(model.scope, 0.5, x.dtype())), x.dtype()), 1);
    default:
      return model.has_axis(x)
             && model.add_whole(model.chance(0.5f) ? argmax(x, model.axis_of(x))
                                                   : argmin(x, model.axis_of(x)));
  }
}

std::vector<int> some_axes(Builder& model, const Tensor& x) {
  std::vector<int> axes;
  for (int axis = model.first_axis(); axis < x.rank(); ++axis)
    if (model.chance(0.5f)) axes.push_back(model.chance(0.3f) ? axis - x.rank() : axis);
  if (axes.empty()) axes.push_back(model.axis_of(x));
  return axes;
}

bool draw_reduction(Builder& model) {
  Value x = model.pick();
  if (!model.has_axis(x.tensor)) return false;
  ReduceOptions options{.axes = some_axes(model, x.tensor), .keep_dims = model.chance(0.5f)};
  double terms = 1;
  for (int axis : options.axes) terms *= static_cast<double>(x.tensor.size(axis));
  switch (model.below(5)) {
    case 0:
      return model.add(sum(x.tensor, options), x.size * std::max(1.0, std::sqrt(terms)));
    case 1:
      return model.add(mean(x.tensor, options), x.size);
    case 2:
      return model.add(max(x.tensor, options), x.size);
    case 3:
      return model.add(min(x.tensor, options), x.size);
    default:
      if (terms > 8) return false;
      return model.add(prod(tanh(x.tensor) + 0.25, options), std::pow(1.25, terms));
  }
}

bool draw_softmax(Builder& model) {
  Value x = model.pick();
  if (!model.has_axis(x.tensor)) return false;
  int axis = model.chance(0.5f) ? x.tensor.rank() - 1 : model.axis_of(x.tensor);
  if (model.chance(0.5f)) return model.add(softmax(x.tensor, axis), 1);
  return model.add(log_softmax(x.tensor, axis), 2 * x.size + 3);
}

// A detour through another type, where the model is f32.
bool draw_cast(Builder& model) {
  Value x = model.pick();
  return model.add(cast(tanh(cast(x.tensor, DType::f64)), model.floating), 1);
}

bool draw_dropout(Builder& model) {
  Value x = model.pick();
  Scope s = model.next("dropout");
  if (model.below(3) > 0) return model.add(dropout(s, x.tensor, {.rate = 0.25f}), 1.5 * x.size);
  Shape shape = model.rows_apart ? Shape{x.tensor.size(0)} : x.tensor.shape();
  Tensor noise;
  switch (model.below(3)) {
    case 0:
      noise = random_uniform(s, shape, -1, 1, model.floating);
      break;
    case 1:
      noise = random_normal(s, shape, 0.25, 0.25, model.floating);
      break;
    default:
      noise = random_truncated_normal(s, shape, 0, 0.5, model.floating);
  }
  return model.add(x.tensor * model.match(noise, x.tensor), 1.5 * x.size);
}

constexpr std::array<Draw, 14> draws = {
    draw_unary,  draw_unary, draw_unary, draw_unary, draw_unary,     draw_binary,  draw_binary,
    draw_binary, draw_where, draw_twice, draw_exact, draw_reduction, draw_softmax, draw_cast};
constexpr std::array<Draw, 15> with_random = [] {
  std::array<Draw, 15> all{};
  std::copy(draws.begin(), draws.end(), all.begin());
  all.back() = draw_dropout;
  return all;
}();

}  // namespace

std::span<const Draw> elementwise_draws() { return with_random; }

}  // namespace belfry::random_models
