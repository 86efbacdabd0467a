// Every kernel of ours on bf16 and f16, against the reference in the same type.

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/random/random.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

/// Runs the op with the inputs at the places `narrow` (all if there are none) rounded to either
/// type. Results are to be at most `roundings` units of the last place of the largest apart.
void check(const OpDef& op, const std::vector<Array>& inputs, const Options& options = {},
           std::vector<std::size_t> narrow = {}, double roundings = 1) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    std::vector<Array> rounded = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (narrow.empty() || std::find(narrow.begin(), narrow.end(), i) != narrow.end())
        rounded[i] = inputs[i].cast(dtype);
    Graph graph;
    const Node& node = apply(op, inputs_like(graph, rounded), options);
    double unit = dtype == DType::bf16 ? 0x1p16 : 0x1p13;  // 2^-7 and 2^-10, as 2^-23
    expect_simd_matches_reference(node, rounded, roundings * unit);
  }
}

FusedInstruction call(const OpDef& op, int a, int b = -1, int c = -1) { return {&op, {a, b, c}}; }

const std::vector<Shape> shapes{{}, {1}, {0}, {17}, {3, 5}, {64, 64}, {7, 4801}};

TEST(Simd16Bits, ElementwiseOps) {
  for (const Shape& shape : shapes) {
    for (const OpDef* op : {&functor::Neg::op, &functor::Abs::op, &functor::Exp::op,
                            &functor::Sigmoid::op, &functor::Tanh::op, &functor::Relu::op})
      check(*op, {random_array(shape, 1)});
    for (const OpDef* op : {&functor::Add::op, &functor::Mul::op, &functor::Maximum::op,
                            &functor::ReluGrad::op, &functor::Less::op, &functor::Equal::op})
      check(*op, {random_array(shape, 1), random_array(shape, 2)});
    check(functor::Where::op,
          {random_integers(shape, DType::boolean, 2, 1), random_array(shape, 2),
           random_array(shape, 3)},
          {}, {1, 2});
  }
}

TEST(Simd16Bits, BroadcastOperands) {
  std::vector<std::pair<Shape, Shape>> pairs{{{64, 1000}, {}},       {{64, 1000}, {1000}},
                                             {{64, 1000}, {64, 1}},  {{5, 6, 7, 8}, {5, 1, 1, 8}},
                                             {{5, 1, 7}, {1, 6, 1}}, {{3, 20000}, {20000}}};
  for (const auto& [a, b] : pairs)
    check(functor::Sub::op, {random_array(a, 1), random_array(b, 2)});
}

/// The chain is computed in float and rounded once; the reference rounds each result.
TEST(Simd16Bits, FusedChainsRoundOnce) {
  FusedOptions chain{
      {call(functor::Add::op, 0, 1), call(functor::Mul::op, 3, 2), call(functor::Sigmoid::op, 4)}};
  for (auto [rows, columns] : {std::pair<int, int>{1, 1}, {130, 129}, {64, 512}})
    check(
        fused_elementwise_op,
        {random_array({rows, columns}, 1), random_array({columns}, 2), random_array({rows, 1}, 3)},
        chain, {}, 4);
  Graph graph;
  Array x = Array::of({1.0f}).cast(DType::bf16), tiny = Array::of({0x1p-9f}).cast(DType::bf16);
  // (1 + 2^-9) + 2^-9 + 2^-9 + 2^-9 = 1 + 2^-7, though 1 + 2^-9 alone is rounded to 1
  const Node& node =
      fused_elementwise(inputs_like(graph, {x, tiny}),
                        {{call(functor::Add::op, 0, 1), call(functor::Add::op, 2, 1),
                          call(functor::Add::op, 3, 1), call(functor::Add::op, 4, 1)}})
          .node();
  Array y = run_kernel(*find_kernel(node, 1), node, {x, tiny})[0];
  EXPECT_EQ(y.at(0), 1 + 0x1p-7);
}

TEST(Simd16Bits, BroadcastTo) {
  for (auto [from, to] : {std::pair<Shape, Shape>{{}, {3, 5000}},
                          {{5000}, {3, 5000}},
                          {{3, 1}, {3, 5000}},
                          {{2, 1, 5}, {2, 400, 5}}})
    check(broadcast_to_op, {random_array(from, 1)}, ShapeOptions{to}, {}, 0);
}

TEST(Simd16Bits, BatchNorm) {
  for (const Shape& shape : {Shape{5, 3}, {4, 7, 7, 16}, {33, 300}, {3000, 33}})
    for (Activation activation : {Activation::none, Activation::relu}) {
      std::int64_t c = shape[shape.rank() - 1];
      Array x = random_array(shape, 1, -1, 3), residual = random_array(shape, 2),
            scale = random_array({c}, 3, 0.5f, 2), offset = random_array({c}, 4),
            mean = random_array({c}, 5, -0.1f, 0.1f), inverse = random_array({c}, 6, 0.5f, 2);
      check(batch_norm_train_op, {x, scale, offset, residual},
            BatchNormOptions{.activation = activation, .residual = true}, {0, 3});
      std::vector<Array> inputs{random_array(shape, 7), x, scale, mean, inverse};
      if (activation == Activation::relu) inputs.push_back(random_array(shape, 8));
      check(batch_norm_grad_op, inputs, BatchNormGradOptions{activation, true}, {0, 1, 5});
      if (activation == Activation::none) continue;
      inputs[5] = offset;
      BatchNormGradOptions by_offset{activation, true, ReluGate::offset};
      check(batch_norm_grad_op, inputs, by_offset, {0, 1});
    }
}

TEST(Simd16Bits, LayerNorm) {
  for (auto [rows, c] : {std::pair<int, int>{1, 1}, {5, 67}, {300, 128}}) {
    Array x = random_array({rows, c}, 1, -1, 3), scale = random_array({c}, 2, 0.5f, 2),
          offset = random_array({c}, 3), mean = random_array({rows}, 4),
          inverse = random_array({rows}, 5, 0.5f, 2);
    check(layer_norm_op, {x, scale, offset}, LayerNormOptions{}, {0});
    check(layer_norm_grad_op, {random_array({rows, c}, 6), x, scale, mean, inverse}, {}, {0, 1});
  }
}

TEST(Simd16Bits, Pools) {
  for (const Shape& shape : {Shape{2, 8, 8, 32}, {1, 9, 7, 3}, {2, 9, 9, 130}}) {
    Pool2dOptions options{.window = {3, 3}, .stride = {2, 2}, .padding = same_padding};
    Array x = random_array(shape, 1);
    check(max_pool_op, {x}, options);
    check(avg_pool_op, {x}, options);
    Graph graph;
    Array narrow = x.cast(DType::bf16);
    const Node& pool = apply(max_pool_op, inputs_like(graph, {narrow}), options);
    std::vector<Array> made = run_kernel(*make_reference_kernel(pool), pool, {narrow});
    PoolGradOptions gradient{options, {shape[1], shape[2]}};
    Array dy = random_array(pool.output().shape, 2);
    check(max_pool_grad_op, {dy, made[1]}, gradient, {0}, 2);
    check(avg_pool_grad_op, {dy}, gradient, {}, 2);
  }
}

TEST(Simd16Bits, SoftmaxAndCrossEntropy) {
  for (const Shape& shape : {Shape{1, 1}, {3, 10}, {33, 1000}}) {
    Array x = random_array(shape, 1, -5, 5),
          labels = random_integers({shape[0]}, DType::i64, shape[1], 2);
    for (const OpDef* op : {&softmax_op, &log_softmax_op}) check(*op, {x}, AxisOptions{1});
    for (double smoothing : {0.0, 0.1}) {
      CrossEntropyOptions options{.label_smoothing = smoothing};
      check(sparse_softmax_cross_entropy_def, {x, labels}, options, {0});
      Array log_sum = random_array({shape[0]}, 3, 4, 6), dy = random_array({shape[0]}, 4);
      check(sparse_softmax_cross_entropy_grad_op, {dy, x, labels, log_sum}, options, {1}, 2);
    }
  }
}

/// Where the prediction is right, the gradient is the small difference of p and 1: of a sum that is
/// rounded first, nothing would be left. p = 1 / (1 + e^-8), p - 1 = -3.35350e-4.
TEST(Simd16Bits, CrossEntropyOfARightPredictionKeepsItsGradient) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Array x = Array::of<float>({8, 0}, {1, 2}).cast(dtype), dy = Array::of<float>({1}, {1}),
          label = Array::of<std::int64_t>({0}, {1}),
          log_sum = Array::of<float>({8 + std::log1p(std::exp(-8.0f))}, {1});
    Graph graph;
    const Node& node = apply(sparse_softmax_cross_entropy_grad_op,
                             inputs_like(graph, {dy, x, label, log_sum}), CrossEntropyOptions{});
    auto dx = run_kernel(*find_kernel(node, 1), node, {dy, x, label, log_sum})[0];
    EXPECT_NEAR(dx.at(0), -3.3535e-4, 3.3535e-4 / 256) << to_string(dtype);
    EXPECT_NEAR(dx.at(1), 3.3535e-4, 3.3535e-4 / 256) << to_string(dtype);
  }
}

TEST(Simd16Bits, Reductions) {
  struct Case {
    Shape shape;
    std::vector<int> axes;
  };
  for (const Case& c : {Case{{128, 10}, {0}}, {{7}, {0}}, {{3, 4099}, {1}}, {{4, 49, 33}, {1}}})
    for (const OpDef* op : {&sum_op, &max_op, &min_op})
      check(*op, {random_array(c.shape, 1)}, ReduceOptions{.axes = c.axes});
}

TEST(Simd16Bits, Argmax) {
  for (std::int64_t width : {1, 10, 63, 64, 1000})
    for (const OpDef* op : {&argmax_op, &argmin_op})
      check(*op, {random_array({5, width}, 1)}, AxisOptions{1});
}

TEST(Simd16Bits, Dropout) {
  Array state = Array::of<std::int64_t>({0x123456789abcdef, 7, 11}, {3});
  for (const Shape& shape : {Shape{5, 3}, {64, 1024}, {1, 20'001}})
    check(dropout_op, {random_array(shape, 1, 1, 2), state}, DropoutMask{.rate = 0.4f}, {0});
}

}  // namespace
}  // namespace belfry::cpu
