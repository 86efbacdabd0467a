#include "belfry/framework/ops/defs_nn.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

const std::vector<Shape> shapes{{1, 1},        {5, 3},    {4, 7, 7, 16},
                                {2, 3, 5, 67}, {33, 300}, {3000, 33}};

struct Variant {
  Activation activation;
  bool residual;
  ReluGate gate = ReluGate::output;
};
const std::vector<Variant> variants{{Activation::none, false},
                                    {Activation::none, true},
                                    {Activation::relu, false},
                                    {Activation::relu, true}};

std::vector<Array> batch_norm_inputs(const Shape& shape, bool residual) {
  std::int64_t c = shape[shape.rank() - 1];
  std::vector<Array> inputs{random_array(shape, 1, -1, 3), random_array({c}, 2, 0.5f, 2),
                            random_array({c}, 3)};
  if (residual) inputs.push_back(random_array(shape, 4));
  return inputs;
}

TEST(SimdBatchNorm, TrainMatchesReference) {
  for (const Shape& shape : shapes)
    for (Variant v : variants) {
      std::vector<Array> inputs = batch_norm_inputs(shape, v.residual);
      Graph graph;
      const Node& node =
          apply(batch_norm_train_op, inputs_like(graph, inputs),
                BatchNormOptions{.activation = v.activation, .residual = v.residual});
      expect_simd_matches_reference(node, inputs, 16);
    }
}

TEST(SimdBatchNorm, GradMatchesReference) {
  std::vector<Variant> all = variants;
  all.push_back({Activation::relu, false, ReluGate::offset});
  all.push_back({Activation::relu, true, ReluGate::offset});
  for (const Shape& shape : shapes)
    for (Variant v : all) {
      std::int64_t c = shape[shape.rank() - 1];
      std::vector<Array> inputs{random_array(shape, 1), random_array(shape, 2),
                                random_array({c}, 3, 0.5f, 2), random_array({c}, 4, -0.1f, 0.1f),
                                random_array({c}, 5, 0.5f, 2)};
      if (v.activation == Activation::relu)
        inputs.push_back(v.gate == ReluGate::offset ? random_array({c}, 6)
                                                    : random_array(shape, 6));
      Graph graph;
      const Node& node = apply(batch_norm_grad_op, inputs_like(graph, inputs),
                               BatchNormGradOptions{v.activation, v.residual, v.gate});
      expect_simd_matches_reference(node, inputs, 32);
    }
}

// Offsets bring outputs so near to 0 that rounding decides about their signs.
TEST(SimdBatchNorm, GradComputesTheSignsOfTheOutputsToTheBit) {
  constexpr std::int64_t rows = 400, c = 35;
  Array x = random_array({rows, c}, 1, -1, 3), scale = random_array({c}, 2, 0.5f, 2);
  Array offset = Array::zeros(Shape{c}), dy = random_array({rows, c}, 3);
  for (std::int64_t i = 0; i < x.elements(); ++i) {  // 16 values a channel
    float& value = x.span<float>()[static_cast<std::size_t>(i)];
    value = std::round(value * 4) / 4;
  }
  for (DType dtype : {DType::f32, DType::bf16})
    for (const SimdLoops* loops : simd_choices()) {
      UsingSimd using_simd(*loops);
      Graph graph;
      std::vector<Array> inputs{x.cast(dtype), scale, offset};
      const Node& norm = apply(batch_norm_train_op, inputs_like(graph, inputs),
                               BatchNormOptions{.activation = Activation::none});
      Array unshifted = run_kernel(*find_kernel(norm, 2), norm, inputs)[0].cast(DType::f32);
      for (std::int64_t j = 0; j < c; ++j)
        inputs[2].span<float>()[static_cast<std::size_t>(j)] =
            -unshifted.span<float>()[static_cast<std::size_t>(j)];
      const Node& fused = apply(batch_norm_train_op, inputs_like(graph, inputs),
                                BatchNormOptions{.activation = Activation::relu});
      auto outputs = run_kernel(*find_kernel(fused, 2), fused, inputs);
      auto gradient = [&](ReluGate gate) {
        std::vector<Array> operands{
            dy.cast(dtype), inputs[0],  scale,
            outputs[1],     outputs[3], gate == ReluGate::offset ? inputs[2] : outputs[0]};
        const Node& node = apply(batch_norm_grad_op, inputs_like(graph, operands),
                                 BatchNormGradOptions{Activation::relu, true, gate});
        return run_kernel(*find_kernel(node, 2), node, operands);
      };
      auto given = gradient(ReluGate::output), computed = gradient(ReluGate::offset);
      for (std::size_t i = 0; i < given.size(); ++i)
        EXPECT_TRUE(identical(given[i], computed[i])) << loops->isa << ", output " << i;
    }
}

TEST(SimdBatchNorm, RecomputesTheOutputsToTheBit) {
  for (const Shape& shape : shapes)
    for (Variant v : variants)
      for (DType dtype : {DType::f32, DType::bf16, DType::f16})
        for (const SimdLoops* loops : simd_choices()) {
          UsingSimd using_simd(*loops);
          std::vector<Array> inputs = batch_norm_inputs(shape, v.residual);
          inputs[0] = inputs[0].cast(dtype);
          if (v.residual) inputs[3] = inputs[3].cast(dtype);
          Graph graph;
          const Node& train =
              apply(batch_norm_train_op, inputs_like(graph, inputs),
                    BatchNormOptions{.activation = v.activation, .residual = v.residual});
          auto outputs = run_kernel(*find_kernel(train, 2), train, inputs);
          inputs.insert(inputs.begin() + 3, {outputs[1], outputs[3]});
          const Node& again = apply(batch_norm_recompute_op, inputs_like(graph, inputs),
                                    BatchNormRecomputeOptions{v.activation, v.residual});
          auto y = run_kernel(*find_kernel(again, 2), again, inputs);
          EXPECT_TRUE(identical(y[0], outputs[0]))
              << loops->isa << " " << to_string(outputs[0].type());
          if (dtype == DType::f32) expect_simd_matches_reference(again, inputs, 16);
        }
}

TEST(SimdBatchNorm, EmptyBatch) {
  std::vector<Array> inputs = batch_norm_inputs({0, 5, 3}, false);
  Graph graph;
  const Node& node = apply(batch_norm_train_op, inputs_like(graph, inputs), BatchNormOptions{});
  expect_simd_matches_reference(node, inputs);
}

TEST(SimdBatchNorm, VarianceSurvivesALargeMean) {
  // Values 1000 +- 0.5: squares summed in float would leave nothing of the variance 0.25.
  Array x({20'000, 8}, DType::f32);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.span<float>()[static_cast<std::size_t>(i)] = i / 8 % 2 ? 1000.5f : 999.5f;
  std::vector<Array> inputs{x, random_array({8}, 2), random_array({8}, 3)};
  Graph graph;
  const Node& node = apply(batch_norm_train_op, inputs_like(graph, inputs), BatchNormOptions{});
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    auto outputs = run_kernel(*find_kernel(node, 2), node, inputs);
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(outputs[1].at(j), 1000);
      EXPECT_NEAR(outputs[2].at(j), 0.25, 1e-7);
    }
  }
}

TEST(SimdLayerNorm, ForwardMatchesReference) {
  for (const Shape& shape : shapes) {
    std::vector<Array> inputs = batch_norm_inputs(shape, false);
    Graph graph;
    const Node& node = apply(layer_norm_op, inputs_like(graph, inputs), LayerNormOptions{});
    // One element alone is all rounding: its deviation from itself over sqrt(epsilon).
    expect_simd_matches_reference(node, inputs, 32);
  }
}

TEST(SimdLayerNorm, GradMatchesReference) {
  for (const Shape& shape : shapes) {
    std::int64_t c = shape[shape.rank() - 1];
    Shape rows(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 1)));
    std::vector<Array> inputs{random_array(shape, 1), random_array(shape, 2),
                              random_array({c}, 3, 0.5f, 2), random_array(rows, 4, -0.1f, 0.1f),
                              random_array(rows, 5, 0.5f, 2)};
    Graph graph;
    expect_simd_matches_reference(apply(layer_norm_grad_op, inputs_like(graph, inputs)), inputs,
                                  32);
  }
}

}  // namespace
}  // namespace belfry::cpu
