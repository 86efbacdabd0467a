#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

const std::vector<Shape> shapes{{1, 1}, {3, 10}, {2, 5, 17}, {128, 1000}, {2, 5000}, {0, 4}};

TEST(SimdSoftmax, MatchesReference) {
  for (const Shape& shape : shapes) {
    Array x = random_array(shape, 1, -20, 20);
    Graph graph;
    Tensor in = inputs_like(graph, {x})[0];
    expect_simd_matches_reference(softmax(in).node(), {x});
    expect_simd_matches_reference(log_softmax(in).node(), {x});
  }
}

TEST(SimdSoftmax, LargeLogitsDoNotOverflow) {
  Array x = Array::of({1e30f, 0.0f, 1e30f, -1e30f}, {1, 4});
  Graph graph;
  Tensor y = softmax(inputs_like(graph, {x})[0]);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    Array out = run_kernel(*find_kernel(y.node(), 1), y.node(), {x})[0];
    EXPECT_TRUE(identical(out, Array::of({0.5f, 0.0f, 0.5f, 0.0f}, {1, 4})));
  }
}

TEST(SimdSoftmax, OtherAxesHaveNoFastKernel) {
  Graph graph;
  EXPECT_EQ(find_kernel(softmax(input(graph, "x", {{4, 5}, DType::f32}), 0).node(), 1), nullptr);
}

TEST(SimdCrossEntropy, LossAndGradientMatchReference) {
  for (const Shape& shape : {Shape{1, 1}, {128, 10}, {33, 1000}, {0, 4}})
    for (double smoothing : {0.0, 0.1})
      for (DType type : {DType::i32, DType::i64}) {
        std::vector<Array> inputs{random_array(shape, 1, -5, 5),
                                  random_integers({shape[0]}, type, shape[1], 2)};
        Graph graph;
        CrossEntropyOptions options{.label_smoothing = smoothing};
        const Node& loss =
            apply(sparse_softmax_cross_entropy_def, inputs_like(graph, inputs), options);
        expect_simd_matches_reference(loss, inputs);
        Array log_sum = run_kernel(*make_reference_kernel(loss), loss, inputs)[1];
        std::vector<Array> grad_inputs{random_array({shape[0]}, 3), inputs[0], inputs[1], log_sum};
        const Node& grad =
            apply(sparse_softmax_cross_entropy_grad_op, inputs_like(graph, grad_inputs), options);
        expect_simd_matches_reference(grad, grad_inputs, 16);
      }
}

TEST(SimdCrossEntropy, LabelOutOfRangeIsNamed) {
  std::vector<Array> inputs{random_array({4, 10}, 1), Array::of<std::int64_t>({0, 9, 3, 10}, {4})};
  Graph graph;
  const Node& loss =
      apply(sparse_softmax_cross_entropy_def, inputs_like(graph, inputs), CrossEntropyOptions{});
  auto kernel = find_kernel(loss, 2);
  EXPECT_THAT([&] { run_kernel(*kernel, loss, inputs); },
              ThrowsMessage<Error>(
                  StrEq("sparse_softmax_cross_entropy: label 10 at row 3 is outside 0..9")));
}

}  // namespace
}  // namespace belfry::cpu
