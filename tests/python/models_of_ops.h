#pragma once
// Models of a few ops each, for ops and options that no model of models/ has.

#include <array>
#include <string>
#include <vector>

#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/recurrent.h"
#include "belfry/framework/ops/ops.h"
#include "every_model.h"

namespace belfry::models {

/// A function of the feature x [n, ...] with results by name.
struct ModelOfOps {
  SmallModel small;  ///< its name and feature; it has no options
  NamedTensors (*results)(const Scope& s, const Tensor& x);
};

/// Images [n, 4, 6, c] in other sizes, of which some have one row or column.
inline NamedTensors resized(const Scope&, const Tensor& x) {
  NamedTensors results;
  using Size = std::array<std::int64_t, 2>;
  for (Size size : {Size{8, 12}, Size{2, 3}, Size{7, 5}, Size{1, 1}, Size{3, 1}, Size{4, 6}})
    for (bool align : {false, true}) {
      std::string name = concat("_", size[0], "_", size[1], align ? "_corners" : "");
      results.emplace_back("nearest" + name, resize_nearest(x, {size, align}));
      results.emplace_back("bilinear" + name, resize_bilinear(x, {size, align}));
    }
  return results;
}

/// Few kinds of whole numbers, so that several are the largest.
inline NamedTensors reduced(const Scope&, const Tensor& integers) {
  Tensor x = cast(integers, DType::f32);
  NamedTensors results{{"sum_of_i64", sum(integers, {.axes = {1, 2}})}};
  auto add = [&](const std::string& name, const ReduceOptions& options) {
    results.emplace_back("sum" + name, sum(x, options));
    results.emplace_back("mean" + name, mean(x, options));
    results.emplace_back("max" + name, max(x, options));
    results.emplace_back("min" + name, min(x, options));
    results.emplace_back("prod" + name, prod(x, options));
  };
  add("_last", {.axes = {-1}});
  add("_kept", {.axes = {1}, .keep_dims = true});
  add("_two", {.axes = {1, 3}});
  add("_image", {.axes = {1, 2}, .keep_dims = true});
  for (int axis : {1, 2, 3}) {
    results.emplace_back(concat("argmax", axis), argmax(x, axis));
    results.emplace_back(concat("argmin", axis), argmin(x, axis));
    results.emplace_back(concat("softmax", axis), softmax(x, axis));
    results.emplace_back(concat("log_softmax", axis), log_softmax(x, axis));
  }
  return results;
}

/// [n, 3, 5, 2] of whole numbers from -2 to 5.
inline NamedTensors moved(const Scope& s, const Tensor& x) {
  Tensor real = cast(x, DType::f32) * 0.5 + 0.25;
  Tensor places = constant(s.graph(), Array::of<std::int64_t>({4, 0, 3, 3}, {2, 2}));
  return {{"one_hot", one_hot(x, {.depth = 4})},
          {"one_hot_of_i32", one_hot(cast(x, DType::i32), {.depth = 1, .on = 3, .off = -2})},
          {"one_hot_i64", one_hot(x, {.depth = 3, .on = 7, .off = 1, .dtype = DType::i64})},
          {"padded", pad(real, {{0, 1, 0, 2}, {0, 0, 3, 1}, 1.5})},
          {"padded_i64", pad(x, {{0, 0, 0, 1}, {0, 0, 0, 0}, -9})},
          {"sliced", slice(real, {{0, 1, 0, 1}, {-1, 2, 3, 1}, {}})},
          {"every_second", slice(x, {{0, 0, 1, 0}, {-1, 1, 2, 2}, {1, 3, 2, 1}})},
          {"transposed", transpose(real, {0, 3, 1, 2})},
          {"gathered", gather(real, places, 2)},
          {"tiled", tile(real, {1, 2, 1, 3})},
          {"stacked", stack({real, -real}, 1)},
          {"joined", concat({real, real * 2}, -1)}};
}

/// Every elementwise function, of numbers from -2 to 3 and others.
inline NamedTensors of_elements(const Scope&, const Tensor& x) {
  Tensor halves = floor(x * 2) * 0.5, whole = floor(x), integers = cast(whole, DType::i64);
  Tensor positive = abs(x) + 0.1, is_low = less(x, x * x), is_half = equal(halves, whole);
  auto number = [](const Tensor& flags) { return cast(flags, DType::i32); };
  return {{"neg", -x},
          {"abs", abs(x)},
          {"sign", sign(whole)},
          {"exp", exp(x)},
          {"expm1", expm1(x)},
          {"log", log(positive)},
          {"log1p", log1p(positive)},
          {"sqrt", sqrt(positive)},
          {"rsqrt", rsqrt(positive)},
          {"reciprocal", reciprocal(positive)},
          {"square", square(x)},
          {"erf", erf(x)},
          {"gelu", gelu(x)},
          {"gelu_by_tanh", gelu(x, {.approximate = true})},
          {"sigmoid", sigmoid(x)},
          {"tanh", tanh(x)},
          {"relu", relu(x)},
          {"leaky_relu", leaky_relu(x)},
          {"elu", elu(x, {.alpha = 0.5f})},
          {"silu", silu(x)},
          {"softplus", softplus(x, {.beta = 3})},
          {"clip", clip(x, -0.5, 1)},
          {"pow", pow(positive, x)},
          {"div", x / positive},
          {"div_i64", integers * 7 / (integers * integers + 2)},
          {"minimum", minimum(x, halves * halves)},
          {"maximum", maximum(x, halves * halves)},
          {"equal", number(is_half)},
          {"not_equal", number(not_equal(halves, whole))},
          {"less", number(less(halves, whole * whole))},
          {"less_equal", number(less_equal(halves, whole * whole))},
          {"greater", number(greater(halves, whole * whole))},
          {"greater_equal", number(greater_equal(halves, whole * whole))},
          {"logical_and", number(logical_and(is_low, is_half))},
          {"logical_or", number(logical_or(is_low, is_half))},
          {"logical_not", number(logical_not(is_low))},
          {"where", where(is_low, x, halves)},
          {"towards_zero", cast(x * 3, DType::i32)},
          {"f16", cast(cast(x, DType::f16), DType::f32)},
          {"to_bool", number(cast(whole, DType::boolean))},
          {"stop_gradient", stop_gradient(x)}};
}

/// Random numbers of each kind, added to x [n, 3].
inline NamedTensors drawn(const Scope& s, const Tensor& x) {
  return {{"uniform", x + random_uniform(s / "a", x.shape(), -1, 1)},
          {"normal", x + random_normal(s / "b", x.shape())},
          {"truncated", x + random_truncated_normal(s / "c", x.shape())}};
}

/// Images [n, 7, 8, 4] by every padding, with strides, distances between taps, and groups.
inline NamedTensors windows(const Scope& s, const Tensor& x) {
  NamedTensors results;
  auto add = [&](const std::string& rule, const Padding& padding) {
    Pool2dOptions pool{.window = {3, 4}, .stride = {2, 3}, .padding = padding};
    results.emplace_back("max_" + rule, max_pool(x, pool));
    results.emplace_back("average_" + rule, avg_pool(x, pool));
    Conv2dLayerOptions conv{.filters = 6, .kernel = {3, 2}, .padding = padding, .groups = 2};
    Conv2dTransposeLayerOptions transposed{
        .filters = 6, .kernel = {3, 2}, .padding = padding, .groups = 2};
    for (Size2 stride : {Size2(1), Size2{2, 3}, Size2{4, 1}}) {
      std::string name = concat(stride.rows, "_", stride.columns, "_", rule);
      conv.stride = transposed.stride = stride;
      results.emplace_back("conv_" + name, conv2d(s / ("conv_" + name), x, conv));
      results.emplace_back("transposed_" + name,
                           conv2d_transpose(s / ("transposed_" + name), x, transposed));
    }
    conv.stride = transposed.stride = 1;
    conv.dilation = transposed.dilation = {2, 3};
    results.emplace_back("dilated_" + rule, conv2d(s / ("dilated_" + rule), x, conv));
    results.emplace_back("dilated_transposed_" + rule,
                         conv2d_transpose(s / ("dilated_transposed_" + rule), x, transposed));
  };
  add("same", same_padding);
  add("valid", valid_padding);
  add("given", Padding::explicit_amounts(1, 0, 2, 1));
  results.emplace_back(
      "transposed_to_13_rows",
      conv2d_transpose(s / "rows", x,
                       {.filters = 2, .kernel = 4, .stride = 2, .output_size = {13, 16}}));
  results.emplace_back("pooled_apart", max_pool(x, {.window = 2, .stride = 3}));
  results.emplace_back("averaged_apart",
                       avg_pool(x, {.window = 1, .stride = 3, .padding = same_padding}));
  return results;
}

/// Every cell over x [n, 4, 3], from given states and from zeros, over all steps and over some.
inline NamedTensors recurrences(const Scope& s, const Tensor& x) {
  Tensor first = reshape(slice(x, {{0, 0, 0}, {-1, 1, 3}, {}}), {-1, 3});
  Tensor steps = cast(clip(sum(first, {.axes = {1}}) * 3 + 2, 0, 4), DType::i32);
  NamedTensors results{{"steps", steps}};
  for (RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::tanh, RecurrentCell::relu}) {
    auto add = [&](const std::string& name, const RecurrentLayerOptions& options) {
      RecurrentResult got = recurrent_layers(s / name, x, cell, options);
      results.emplace_back(name, got.y);
      results.emplace_back(name + "_last", got.last);
      results.emplace_back(name + "_h", got.states.back().h);
      if (cell == RecurrentCell::lstm) results.emplace_back(name + "_c", got.states.back().c);
    };
    std::string name = to_string(cell);
    RecurrentState state{first, cell == RecurrentCell::lstm ? -first : Tensor()};
    add(name, {.units = 3, .recurrent_bias = true});
    add(name + "_two_ways", {.units = 3,
                             .bidirectional = true,
                             .lengths = steps,
                             .initial = {state, {first * 2, state.c}}});
    add(name + "_of_lengths", {.units = 3, .layers = 2, .use_bias = false, .lengths = steps});
  }
  return results;
}

/// All of these.
inline std::vector<ModelOfOps> models_of_ops() {
  auto of_x = [](const char* name, TensorType x, double low, double high, auto results) {
    return ModelOfOps{{name, "{}", {{"x", x, low, high}}}, results};
  };
  return {of_x("resized", {{4, 6, 2}, DType::f32}, -1, 1, resized),
          of_x("reduced", {{3, 2, 2}, DType::i64}, 1, 7, reduced),
          of_x("moved", {{3, 5, 2}, DType::i64}, -2, 6, moved),
          of_x("of_elements", {{4, 5}, DType::f32}, -2, 3, of_elements),
          of_x("recurrences", {{4, 3}, DType::f32}, -1, 1, recurrences),
          of_x("drawn", {{3}, DType::f32}, -1, 1, drawn),
          of_x("windows", {{7, 8, 4}, DType::f32}, -1, 1, windows)};
}

}  // namespace belfry::models
