#include "belfry/framework/backend/cpu/widened_kernel.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/update/updates.h"
#include "cpu_conv_testing.h"

namespace belfry::cpu {
namespace {

/// The outputs that the node's widened kernel makes of `inputs`, packed inputs and workspace
/// included.
std::vector<Array> run_widened(const Node& node, const std::vector<Array>& inputs, int threads) {
  auto stream = find_device("cpu")->make_stream();
  stream->activate(threads);
  auto kernel = make_widened_kernel(node, {.threads = threads});
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
    for (const ConvCase& c : {ConvCase{{3, 9, 8, 16}, {3, 3, 16, 32}},
                              {{9, 16, 16, 16}, {3, 3, 16, 32}, Conv2dOptions{.stride = {2, 2}}}}) {
      Array x = narrow(c.x, 1, dtype), kernel = narrow(c.kernel, 2, dtype),
            dy = narrow(c.output(), 3, dtype), bias = narrow({32}, 4, dtype);
      Graph graph;
      auto in = inputs_like(graph, {x, kernel, dy, bias});
      expect_matches_reference(conv_with_bias_and_relu({in[0], in[1], in[3]}, c).node(),
                               {x, kernel, bias});
      expect_matches_reference(conv_grad_input({in[2], in[1]}, c).node(), {dy, kernel});
      expect_matches_reference(conv_grad_kernel({in[0], in[2]}, c).node(), {x, dy});
    }
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
  auto kernel = make_widened_kernel(node, {.threads = 2});
  std::vector<Array> operands{a.clone(), b.clone()};
  std::vector<void*> from{operands[0].raw(), operands[1].raw()}, to{from[1]};
  Array workspace(Shape{kernel->workspace().count}, DType::u8);
  auto stream = find_device("cpu")->make_stream();
  kernel->run({from, to, workspace.raw()}, *stream);
  EXPECT_TRUE(identical(operands[1], expected));
}

TEST(WidenedKernel, NeedsAnOperandOf16BitsAndAnF32Kernel) {
  Graph graph;
  Tensor wide = input(graph, "x", {{4}, DType::f32}), narrow = input(graph, "n", {{4}, DType::f16});
  EXPECT_EQ(make_widened_kernel(exp(wide).node(), {}), nullptr);
  EXPECT_EQ(make_widened_kernel(apply(prod_op, {narrow}, ReduceOptions{{0}}), {}), nullptr);
}

/// Rounding all of a variable would not have the bits of rounding the rows that were looked up.
TEST(WidenedKernel, LeavesUpdatesAlone) {
  Graph graph;
  VariableOptions options{.name = "w", .type = {{4}, DType::bf16}};
  Tensor rate = input(graph, "rate", {{}, DType::f32}), w(graph.add(variable_op, {}, options, {})),
         g = input(graph, "g", {{4}, DType::bf16});
  const Node& node = apply(sgd_update_op, {rate, w, g}, SgdUpdateOptions{});
  EXPECT_EQ(make_widened_kernel(node, {}), nullptr);
}

}  // namespace
}  // namespace belfry::cpu
