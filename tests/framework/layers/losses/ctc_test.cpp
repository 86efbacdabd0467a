#include "../layers_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry::testing {
namespace {

const double ln2 = std::log(2.0);

/// Uniform logits of two rows: three paths of four, and one of two, read as the label.
Tensor loss(Graph& graph, CtcLossOptions options = {}, DType dtype = DType::f32) {
  Tensor logits = constant(graph, Array::zeros({2, 2, 2}, dtype));
  return ctc(logits, tensor(graph, {2, 1}, {1, 1}), tensor(graph, {2}, {2, 1}),
             tensor(graph, {2}, {1, 1}), options);
}

TEST(Ctc, IsOneLossARow) {
  Graph graph;
  EXPECT_THAT(values(loss(graph)), near_values({std::log(4 / 3.0), ln2}));
}

TEST(Ctc, WeightsMultiplyRows) {
  Graph graph;
  Tensor weights = tensor(graph, {2}, {0, 3});
  EXPECT_THAT(values(loss(graph, {.weights = weights})), near_values({0, 3 * ln2}));
  EXPECT_EQ(error_of([&] {
              loss(graph, {.weights = tensor(graph, {3}, {1, 1, 1})});
            }),
            "ctc: weights are i32[3] but must have the shape [2] or that of its leading axes");
}

TEST(Ctc, PassesItsOptionsOn) {
  Graph graph;
  EXPECT_THAT(error_of([&] { values(loss(graph, {.blank = -1})); }),
              HasSubstr("label 1 at row 0, position 0 is the blank"));
  Tensor logits = constant(graph, Array::zeros({1, 1, 2}));
  auto unfitting = [&](bool zero_infinity) {
    return values(ctc(logits, tensor(graph, {1, 2}, {1, 1}), tensor(graph, {1}, {1}),
                      tensor(graph, {1}, {2}), {.zero_infinity = zero_infinity}));
  };
  EXPECT_THAT(unfitting(true), ElementsAre(0));
  EXPECT_THAT(error_of([&] { unfitting(false); }), HasSubstr("need at least 3 frames"));
}

TEST(Ctc, ErrorsNameIt) {
  Graph graph;
  EXPECT_EQ(error_of([&] { loss(graph, {.blank = -7}); }),
            "ctc: blank -7 is not a class of logits f32[2, 2, 2]");
  Tensor logits = constant(graph, Array::zeros({2, 2, 2})), lengths = tensor(graph, {2}, {1, 1});
  EXPECT_EQ(error_of([&] { ctc(logits, lengths, lengths, lengths); }),
            "ctc: labels must be [n, l], got i32[2]");
  EXPECT_EQ(error_of([&] { ctc(logits, lengths, Tensor(), lengths); }),
            "ctc: input 2, logit_lengths, is undefined");
}

TEST(Ctc, IsComputedInF32InMixedPrecision) {
  Graph graph;
  graph.set_input_rule(autocast(DType::bf16));
  Tensor y = loss(graph, {}, DType::bf16);
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_THAT(values(y), near_values({std::log(4 / 3.0), ln2}));
}

TEST(Ctc, GradientsAgreeWithDifferences) {
  using In = std::span<const Tensor>;
  auto build = [](const Scope&, In in) {
    Graph& graph = in[0].graph();
    return std::vector{ctc(in[0], in[1], tensor(graph, {3}, {4, 3, 4}),
                           tensor(graph, {3}, {2, 2, 1}), {.blank = 1, .weights = in[2]})};
  };
  EXPECT_EQ(
      check_op({.build = build,
                .inputs = {noise({3, 4, 3}, 1),
                           Array::of<std::int64_t>({0, 2, 2, 0, 2, -1}, {3, 2}), noise({3}, 2)}}),
      "");
}

}  // namespace
}  // namespace belfry::testing
