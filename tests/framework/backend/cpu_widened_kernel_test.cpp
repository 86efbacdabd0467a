#include "belfry/framework/backend/cpu/widened_kernel.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/updates.h"
#include "cpu_onednn_testing.h"

namespace belfry::cpu {
namespace {

using ::testing::ElementsAre;

/// What the node's widened kernel makes of `inputs`, packed inputs and workspace included.
std::vector<Array> run_widened(const Node& node, const std::vector<Array>& inputs, int threads) {
  auto stream = find_device("cpu")->make_stream();
  stream->activate(threads);
  auto kernel = make_widened_kernel(node, threads);
  require(kernel != nullptr, "no widened kernel for ", node);
  return run_kernel(*kernel, node, packed(*kernel, inputs, *stream));
}

/// The f32 kernel sums with more digits than the result keeps: one rounding apart at most.
void expect_matches_reference(const Node& node, const std::vector<Array>& inputs) {
  double one_rounding = node.output().dtype == DType::bf16 ? 0x1p16 : 0x1p13;
  auto expected = run_kernel(*make_reference_kernel(node), node, inputs);
  for (int threads : {1, 2}) {
    auto got = run_widened(node, inputs, threads);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(difference(expected[i], got[i], one_rounding), "") << to_string(node);
  }
}

Array narrow(const Shape& shape, std::uint64_t seed, DType dtype) {
  return random_array(shape, seed).cast(dtype);
}

TEST(WidenedKernel, ConvolutionsAndTheirGradients) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Array x = narrow({3, 9, 8, 16}, 1, dtype), kernel = narrow({3, 3, 16, 32}, 2, dtype),
          dy = narrow({3, 9, 8, 32}, 3, dtype), bias = narrow({32}, 4, dtype);
    Graph graph;
    auto in = inputs_like(graph, {x, kernel, dy, bias});
    Conv2dOptions window;
    expect_matches_reference(
        apply1(conv2d_op, {in[0], in[1], in[3]},
               ConvOptions{.window = window, .bias = true, .activation = Activation::relu})
            .node(),
        {x, kernel, bias});
    expect_matches_reference(conv2d_grad_input(in[2], in[1], {window, {9, 8}}).node(),
                             {dy, kernel});
    expect_matches_reference(conv2d_grad_kernel(in[0], in[2], {window, {3, 3}}).node(), {x, dy});
  }
}

/// Where kernels of 16 bits that want their weights in f32 and in 16 bits read one tensor, the two
/// packed forms are not to be taken for each other.
TEST(WidenedKernel, PacksUnderALayoutOfItsOwn) {
  Array x = narrow({2, 8, 8, 16}, 1, DType::f16), kernel = narrow({3, 3, 16, 32}, 2, DType::f16);
  Graph narrow_graph, wide_graph;
  auto in = inputs_like(narrow_graph, {x, kernel}),
       wide = inputs_like(wide_graph, {x.cast(DType::f32), kernel.cast(DType::f32)});
  auto a = make_widened_kernel(conv2d(in[0], in[1], {}).node(), 1);
  auto b = find_kernel(conv2d(wide[0], wide[1], {}).node(), 1);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->implementation(), "onednn f32");
  ASSERT_EQ(a->packed_inputs().size(), b->packed_inputs().size());
  for (std::size_t i = 0; i < a->packed_inputs().size(); ++i) {
    EXPECT_NE(a->packed_inputs()[i].layout, b->packed_inputs()[i].layout);
    EXPECT_EQ(a->packed_inputs()[i].size.count, b->packed_inputs()[i].size.count);
  }
}

TEST(WidenedKernel, Products) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Array a = narrow({33, 70}, 1, dtype), b = narrow({70, 51}, 2, dtype);
    Graph graph;
    auto in = inputs_like(graph, {a, b});
    expect_matches_reference(matmul(in[0], in[1]).node(), {a, b});
  }
}

/// A kernel may write its output over an input: all of the input has been read by then.
TEST(WidenedKernel, ResultMayOverwriteAnOperand) {
  Array a = narrow({3, 1003}, 1, DType::bf16), b = narrow({3, 1003}, 2, DType::bf16);
  Graph graph;
  auto in = inputs_like(graph, {a, b});
  const Node& node = sub(in[0], in[1]).node();
  Array expected = run_widened(node, {a, b}, 1)[0];
  auto kernel = make_widened_kernel(node, 2);
  std::vector<Array> operands{a.clone(), b.clone()};
  std::vector<void*> from{operands[0].raw(), operands[1].raw()}, to{from[1]};
  Array workspace(Shape{kernel->workspace().count}, DType::u8);
  auto stream = find_device("cpu")->make_stream();
  kernel->run({from, to, workspace.raw()}, *stream);
  EXPECT_TRUE(identical(operands[1], expected));
}

TEST(WidenedKernel, UpdatesOfVariables) {
  Graph graph;
  VariableOptions options{.name = "w", .type = {{4}, DType::bf16}};
  Tensor rate = input(graph, "rate", {{}, DType::f32}), w(graph.add(variable_op, {}, options, {})),
         g = input(graph, "g", {{4}, DType::bf16});
  const Node& node = apply(sgd_update_op, {rate, w, g}, SgdUpdateOptions{});
  // w - 0.5 g, exact in bf16
  auto got =
      run_widened(node,
                  {Array::scalar(0.5f), Array::of({1.0f, 2.0f, -3.0f, 0.0f}).cast(DType::bf16),
                   Array::of({2.0f, -2.0f, 0.5f, 4.0f}).cast(DType::bf16)},
                  1);
  ASSERT_EQ(got.size(), 1u);
  Array w_after = got[0].cast(DType::f32);
  EXPECT_THAT(w_after.span<float>(), ElementsAre(0.0f, 3.0f, -3.25f, -2.0f));
}

TEST(WidenedKernel, NeedsAnOperandOf16BitsAndAnF32Kernel) {
  Graph graph;
  Tensor wide = input(graph, "x", {{4}, DType::f32}), narrow = input(graph, "n", {{4}, DType::f16});
  EXPECT_EQ(make_widened_kernel(exp(wide).node(), 1), nullptr);
  EXPECT_EQ(make_widened_kernel(apply(prod_op, {narrow}, ReduceOptions{{0}}), 1), nullptr);
}

}  // namespace
}  // namespace belfry::cpu
