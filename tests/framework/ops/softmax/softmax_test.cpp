// Covers softmax.cpp, log_softmax, sparse_softmax_cross_entropy.cpp and its gradient.
#include <cmath>
#include <limits>

#include "../nn_support.h"

namespace belfry::testing {
namespace {

const double log2 = std::log(2.0), log5 = std::log(5.0), log8 = std::log(8.0);

// Logits whose exponentials are 1, 2 and 5, in f64.
Tensor logits(Graph& graph, const Shape& shape = {1, 3}) {
  return constant(graph, Array::of<double>({0, log2, log5}, shape));
}

MATCHER_P(Near, value, "") {
  return std::abs(arg - value) <= 1e-15 * std::max(1.0, std::abs(1.0 * value));
}

TEST(Softmax, SharesOfTheExponentials) {
  Graph graph;
  EXPECT_THAT(values(softmax(logits(graph))), ElementsAre(Near(0.125), Near(0.25), Near(0.625)));
  EXPECT_THAT(values(log_softmax(logits(graph))),
              ElementsAre(Near(-log8), Near(log2 - log8), Near(log5 - log8)));
}

TEST(Softmax, AlongAnyAxis) {
  Graph graph;
  Tensor x = floats(graph, {2, 2}, {0, 0, 0, 1000});
  EXPECT_THAT(values(softmax(x, 0)), ElementsAre(0.5, 0, 0.5, 1));
  EXPECT_THAT(values(softmax(x, -1)), ElementsAre(0.5, 0.5, 0, 1));
  EXPECT_THAT(values(log_softmax(x, 0))[1], -1000);
  EXPECT_EQ(softmax(x, 1).node().options(), softmax(x, -1).node().options());
}

TEST(Softmax, LargeLogitsDoNotOverflow) {
  Graph graph;
  Tensor x = floats(graph, {1, 3}, {1e30f, 1e30f, -1e30f});
  EXPECT_THAT(values(softmax(x)), ElementsAre(0.5, 0.5, 0));
  Tensor half = softmax(cast(floats(graph, {1, 2}, {60000, 60000}), DType::f16));
  EXPECT_EQ(half.dtype(), DType::f16);
  EXPECT_THAT(values(half), ElementsAre(0.5, 0.5));
}

TEST(Softmax, PassesCheckOp) {
  for (auto* op : {&softmax, &log_softmax})
    for (const Shape& x : {Shape{4, 8}, Shape{2, 3, 5}, Shape{7, 1}, Shape{17}, Shape{0, 3}})
      for (int axis : {0, -1}) {
        SCOPED_TRACE(to_string(x));
        auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
          return {op(in[0], axis)};
        };
        EXPECT_EQ(check_op({.build = build, .inputs = {noise(x)}}), "");
        auto second = [&](const Scope& s, std::span<const Tensor> in) {
          return square_gradients(build(s, in)[0], in);
        };
        EXPECT_EQ(check_op({.build = second, .inputs = {noise(x)}, .rounding = 256}), "");
      }
}

TEST(Softmax, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  EXPECT_EQ(error_of([&] { softmax(logits(graph), 2); }),
            "softmax: axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(error_of([&] { log_softmax(logits(graph), -3); }),
            "log_softmax: axis -3 is outside a tensor of rank 2");
  EXPECT_EQ(error_of([&] { softmax(cast(logits(graph), DType::i32)); }),
            "softmax: input must be floating, got i32[1, 3]; cast it");
}

Tensor labels(Graph& graph, std::initializer_list<std::int32_t> list) {
  return constant(graph, Array::of<std::int32_t>(list));
}

TEST(SparseSoftmaxCrossEntropy, IsTheLogarithmOfTheLabelsShare) {
  Graph graph;
  EXPECT_THAT(values(sparse_softmax_cross_entropy_op(logits(graph), labels(graph, {2}))),
              ElementsAre(Near(log8 - log5)));
  Tensor smooth = sparse_softmax_cross_entropy_op(logits(graph), labels(graph, {2}), 0.3);
  EXPECT_THAT(values(smooth),
              ElementsAre(Near(0.1 * log8 + 0.1 * (log8 - log2) + 0.8 * (log8 - log5))));
}

TEST(SparseSoftmaxCrossEntropy, GradientIsShareMinusTarget) {
  Graph graph;
  Tensor x = logits(graph);
  Tensor loss = sparse_softmax_cross_entropy_op(x, labels(graph, {2}));
  EXPECT_THAT(values(gradients(sum(loss) * 8, {&x, 1})[0]),
              ElementsAre(Near(1), Near(2), Near(-3)));
  loss = sparse_softmax_cross_entropy_op(x, labels(graph, {0}), 0.3);
  EXPECT_THAT(values(gradients(sum(loss), {&x, 1})[0]),
              ElementsAre(Near(0.125 - 0.8), Near(0.25 - 0.1), Near(0.625 - 0.1)));
}

TEST(SparseSoftmaxCrossEntropy, LossOf16BitLogitsIsF32) {
  Graph graph;
  Tensor x = cast(floats(graph, {1, 2}, {0, 0}), DType::bf16);
  Tensor loss = sparse_softmax_cross_entropy_op(x, labels(graph, {1}));
  EXPECT_EQ(loss.dtype(), DType::f32);
  EXPECT_THAT(values(loss), ElementsAre(static_cast<float>(log2)));
  Tensor dx = gradients(sum(loss), {&x, 1})[0];
  EXPECT_EQ(dx.dtype(), DType::bf16);
  EXPECT_THAT(values(dx), ElementsAre(0.5, -0.5));
}

TEST(SparseSoftmaxCrossEntropy, ImpossibleOtherClassesDoNoHarm) {
  Graph graph;
  Tensor x = floats(graph, {1, 2}, {0, -std::numeric_limits<float>::infinity()});
  EXPECT_THAT(values(sparse_softmax_cross_entropy_op(x, labels(graph, {0}))), ElementsAre(0));
}

TEST(SparseSoftmaxCrossEntropy, PassesCheckOp) {
  struct Case {
    std::int64_t n, classes;
    double smoothing;
  };
  for (const Case& t : {Case{8, 10, 0}, Case{5, 7, 0.1}, Case{1, 1, 0.5}, Case{0, 3, 0}}) {
    for (DType dtype : {DType::i32, DType::i64}) {
      Array label(Shape{t.n}, DType::i64);
      std::int64_t next = 0;
      for (std::int64_t& l : label.span<std::int64_t>()) l = (next += 3) % t.classes;
      auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
        return {sparse_softmax_cross_entropy_op(in[0], in[1], t.smoothing)};
      };
      std::vector<Array> inputs = {noise({t.n, t.classes}), label.cast(dtype)};
      EXPECT_EQ(check_op({.build = build, .inputs = inputs}), "");
      auto second = [&](const Scope& s, std::span<const Tensor> in) {
        return square_gradients(build(s, in)[0], in.first(1));
      };
      EXPECT_EQ(check_op({.build = second, .inputs = inputs, .rounding = 256}), "");
    }
  }
}

TEST(SparseSoftmaxCrossEntropy, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({4, 10}));
  auto run = [&](Tensor l, double smoothing = 0) {
    return error_of([&] { values(sparse_softmax_cross_entropy_op(x, l, smoothing)); });
  };
  EXPECT_THAT(
      run(labels(graph, {0, 9, 1, 10})),
      ::testing::StartsWith("sparse_softmax_cross_entropy: label 10 at row 3 is outside 0..9"));
  EXPECT_THAT(
      run(labels(graph, {0, -1, 1, 2})),
      ::testing::StartsWith("sparse_softmax_cross_entropy: label -1 at row 1 is outside 0..9"));
  EXPECT_EQ(run(labels(graph, {0, 1, 2})),
            "sparse_softmax_cross_entropy: labels must be [4], one for each row of logits "
            "f32[4, 10], got i32[3]");
  EXPECT_EQ(run(cast(labels(graph, {0, 1, 2, 3}), DType::f32)),
            "sparse_softmax_cross_entropy: labels must be i32 or i64, got f32[4]; cast them");
  EXPECT_EQ(run(labels(graph, {0, 1, 2, 3}), 1.5),
            "sparse_softmax_cross_entropy: label smoothing must be in [0, 1], got 1.5");
}

}  // namespace
}  // namespace belfry::testing
