// Each pass by what it makes of a graph. That values stay is tested in tests/framework/runtime.

#include "belfry/framework/compiler/passes.h"

#include "belfry/framework/ops/collective.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Pass : public ::testing::Test {
 protected:
  Graph graph;
  Tensor x = f32(graph, "x", {2, 3});
  Tensor y = f32(graph, "y", {2, 3});
};

// ---- fold_constants

using FoldConstants = Pass;

TEST_F(FoldConstants, ComputesWhatIsKnown) {
  Tensor two = constant(graph, Array::of({1.f, 2.f, 3.f})) + 1.0;
  Program p = fold_constants(program_of({x + reshape(two * 10.0, {1, 3})}));
  EXPECT_THAT(ops_of(p), ElementsAre("add"));
  Tensor folded = p.outputs[0].node().input(1);
  EXPECT_EQ(folded.type(), (TensorType{{1, 3}, DType::f32}));
  EXPECT_EQ(folded.node().as<ConstantOptions>().value.at(2), 40);
}

TEST_F(FoldConstants, LeavesRandomNumbersAndLargeResults) {
  Tensor noise = random_normal(Scope(graph) / "noise", {2, 3});
  EXPECT_THAT(ops_of(fold_constants(program_of({noise}))), ElementsAre("random_normal"));
  Tensor large = broadcast_to(constant(graph, 1, DType::f32), {1 << 18, 2});
  EXPECT_THAT(ops_of(fold_constants(program_of({large}))), ElementsAre("broadcast_to"));
}

TEST_F(FoldConstants, DropsArithmeticThatChangesNoBit) {
  Tensor one = constant(graph, 1, DType::f32), zero = constant(graph, 0, DType::f32);
  for (Tensor same : {x * one, one * x, x / one, x - zero}) {
    Program p = fold_constants(program_of({same}));
    EXPECT_THAT(ops_of(p), IsEmpty());
    EXPECT_TRUE(p.outputs[0].node().is(input_op));
  }
  Tensor minus_zero = constant(graph, -0.0, DType::f32);
  Tensor row = constant(graph, Array::of({1.f, 1.f, 1.f}));
  Tensor scalar = f32(graph, "s", {});
  for (Tensor other : {x + zero, zero - x, one / x, x - minus_zero, x * 2.0, scalar * row})
    EXPECT_EQ(ops_of(fold_constants(program_of({other}))).size(), 1u);
}

TEST_F(FoldConstants, AFailureNamesTheNode) {
  Tensor table = constant(graph, Array::of({1.f, 2.f}));
  Tensor out = gather(table, constant(graph, Array::of<std::int64_t>({5})));
  EXPECT_THAT(error_of([&] { fold_constants(program_of({out})); }), HasSubstr("gather"));
}

// ---- merge_common_subexpressions

using MergeCommonSubexpressions = Pass;

TEST_F(MergeCommonSubexpressions, OneOfEachRemains) {
  Tensor a = exp(x) * 2.0, b = exp(x) * 2.0;
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({a + sqrt(b)}))),
              ElementsAre("exp", "mul", "sqrt", "add"));
}

TEST_F(MergeCommonSubexpressions, OperandsOfCommutativeOpsMaySwap) {
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({(x + y) / (y + x)}))),
              ElementsAre("add", "div"));
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({(x - y) / (y - x)}))),
              ElementsAre("sub", "sub", "div"));
}

TEST_F(MergeCommonSubexpressions, OptionsCount) {
  Tensor rows = sum(x, {.axes = {0}}), all = sum(x, {.axes = {0}});
  Tensor kept = sum(x, {.axes = {0}, .keep_dims = true});
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({rows + all, kept}))),
              ElementsAre("sum", "sum", "add"));
}

TEST_F(MergeCommonSubexpressions, RandomStreamsStayApart) {
  Scope s = Scope(graph) / "noise";
  Tensor a = random_normal(s, {2, 3}), b = random_normal(s, {2, 3});
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({a + b}))),
              ElementsAre("random_normal", "random_normal", "add"));
}

// Whether their operands are equal may depend on a tower's rows; all towers make the same
// reductions.
TEST(MergeCollectives, ReductionsStayApart) {
  Graph graph(2);
  Tensor x = f32(graph, "x", {2, 3});
  EXPECT_THAT(ops_of(merge_common_subexpressions(program_of({tower_sum(x) + tower_sum(x)}))),
              ElementsAre("all_reduce", "all_reduce", "add"));
}

// ---- fuse_bias_and_activation

class FuseBias : public Pass {
 protected:
  Tensor image = f32(graph, "image", {2, 8, 8, 3}), kernel = f32(graph, "kernel", {3, 3, 3, 4});
  Tensor weights = f32(graph, "weights", {3, 4}), bias = f32(graph, "bias", {4});
  std::vector<std::string> fused(const std::vector<Tensor>& outputs) {
    program = fuse_bias_and_activation(program_of(outputs));
    return ops_of(program);
  }
  Program program;
};

TEST_F(FuseBias, IntoConvolutions) {
  EXPECT_THAT(fused({relu(conv2d(image, kernel) + bias)}), ElementsAre("conv2d"));
  const ConvOptions& options = program.outputs[0].node().as<ConvOptions>();
  EXPECT_TRUE(options.bias);
  EXPECT_EQ(options.activation, Activation::relu);
  EXPECT_THAT(fused({bias + conv2d(image, kernel)}), ElementsAre("conv2d"));
  EXPECT_EQ(program.outputs[0].node().as<ConvOptions>().activation, Activation::none);
  EXPECT_THAT(fused({relu(conv2d(image, kernel))}), ElementsAre("conv2d"));
  EXPECT_FALSE(program.outputs[0].node().as<ConvOptions>().bias);
}

TEST_F(FuseBias, IntoConvolutionsOfVolumes) {
  Tensor volume = f32(graph, "volume", {2, 4, 8, 8, 3});
  Tensor voxels = f32(graph, "voxels", {3, 3, 3, 3, 4});
  EXPECT_THAT(fused({relu(conv3d(volume, voxels) + bias)}), ElementsAre("conv3d"));
  EXPECT_TRUE(program.outputs[0].node().as<ConvOptions>().bias);
  EXPECT_EQ(program.outputs[0].node().as<ConvOptions>().activation, Activation::relu);
}

TEST_F(FuseBias, IntoProducts) {
  EXPECT_THAT(fused({relu(matmul(x, weights) + bias)}), ElementsAre("matmul"));
  EXPECT_TRUE(program.outputs[0].node().as<MatmulNodeOptions>().bias);
  EXPECT_EQ(program.outputs[0].node().as<MatmulNodeOptions>().activation, Activation::relu);
}

TEST_F(FuseBias, NotWhereSomebodyElseReads) {
  Tensor product = matmul(x, weights);
  EXPECT_THAT(fused({relu(product + bias), product}), ElementsAre("matmul", "add", "relu"));
  Tensor sum = matmul(x, weights) + bias;
  EXPECT_THAT(fused({relu(sum), sum}), ElementsAre("matmul", "relu"));
}

TEST_F(FuseBias, NotWhatIsNoBias) {
  Tensor matrix = f32(graph, "m", {2, 4}), one = f32(graph, "one", {1}),
         scalar = f32(graph, "s", {});
  EXPECT_THAT(fused({matmul(x, weights) + matrix}), ElementsAre("matmul", "add"));
  EXPECT_THAT(fused({matmul(x, weights) + one}), ElementsAre("matmul", "add"));
  EXPECT_THAT(fused({matmul(x, weights) + scalar}), ElementsAre("matmul", "add"));
  EXPECT_THAT(fused({matmul(x, weights) + bias + bias}), ElementsAre("matmul", "add"));
  EXPECT_THAT(fused({relu(matmul(x, weights)) + bias}), ElementsAre("matmul", "add"));
}

// ---- fuse_batch_norm

class FuseBatchNorm : public Pass {
 protected:
  Tensor image = f32(graph, "image", {2, 4, 4, 3}), other = f32(graph, "other", {2, 4, 4, 3});
  Tensor scale = f32(graph, "scale", {3}), offset = f32(graph, "offset", {3});
  Tensor norm(const Tensor& t) { return batch_norm_train(t, scale, offset).y; }
  std::vector<std::string> fused(const std::vector<Tensor>& outputs, bool on_host = true) {
    program = fuse_batch_norm(program_of(outputs), [=](int) { return on_host; });
    return ops_of(program);
  }
  ReluGate gate_of(int output) const {
    return program.outputs[output].node().as<BatchNormGradOptions>().gate;
  }
  Program program;
};

TEST_F(FuseBatchNorm, WithRelu) {
  EXPECT_THAT(fused({relu(norm(image))}), ElementsAre("batch_norm_train"));
  EXPECT_EQ(program.outputs[0].node().as<BatchNormOptions>().activation, Activation::relu);
  EXPECT_FALSE(program.outputs[0].node().as<BatchNormOptions>().residual);
}

TEST_F(FuseBatchNorm, WithAResidual) {
  for (int side : {0, 1}) {
    Tensor n = norm(image);
    EXPECT_THAT(fused({relu(side ? n + other : other + n)}), ElementsAre("batch_norm_train"));
    EXPECT_TRUE(program.outputs[0].node().as<BatchNormOptions>().residual);
    EXPECT_EQ(program.outputs[0].node().inputs().size(), 4u);
  }
  Tensor both = norm(image) + norm(other);  // a projection beside it
  EXPECT_THAT(fused({relu(both)}), ElementsAre("batch_norm_train", "batch_norm_train"));
}

TEST_F(FuseBatchNorm, NotWhereSomebodyElseReads) {
  Tensor n = norm(image);
  EXPECT_THAT(fused({relu(n), n}), ElementsAre("batch_norm_train", "relu"));
  Tensor sum = norm(image) + other;
  EXPECT_THAT(fused({relu(sum), sum}), ElementsAre("batch_norm_train", "add", "relu"));
  Tensor row = f32(graph, "row", {3});
  EXPECT_THAT(fused({relu(norm(image) + row)}), ElementsAre("batch_norm_train", "add", "relu"));
}

TEST_F(FuseBatchNorm, BackwardToo) {
  Tensor y = relu(norm(image));
  Tensor seed = f32(graph, "seed", {2, 4, 4, 3});
  std::vector<Tensor> xs{image, scale, offset};
  std::vector<Tensor> found = gradients(y, xs, seed);
  EXPECT_THAT(fused({y, found[0], found[1], found[2]}),
              ElementsAre("batch_norm_train", "batch_norm_grad"));
  EXPECT_EQ(program.outputs[1].node().as<BatchNormGradOptions>().activation, Activation::relu);
  EXPECT_FALSE(program.outputs[1].node().as<BatchNormGradOptions>().residual);
  EXPECT_EQ(gate_of(1), ReluGate::offset);
  EXPECT_EQ(program.outputs[1].node().input(5).node().as<InputOptions>().name, "offset");
}

TEST_F(FuseBatchNorm, BackwardReadsWhatAnotherNormMade) {
  Tensor y = relu(norm(other)), n = norm(image);
  std::vector<Tensor> xs{image};
  std::vector<Tensor> found = gradients(n, xs, relu_grad(f32(graph, "seed", {2, 4, 4, 3}), y));
  fused({y, n, found[0]});
  const Node& grad = program.outputs[2].node();
  ASSERT_TRUE(grad.is(batch_norm_grad_op));
  EXPECT_EQ(grad.as<BatchNormGradOptions>().activation, Activation::relu);
  EXPECT_EQ(gate_of(2), ReluGate::output);
  EXPECT_EQ(grad.input(5).node().id(), program.outputs[0].node().id());
}

TEST_F(FuseBatchNorm, BackwardReadsTheOutputWhereItsOperandsAreNotTheNorms) {
  Tensor another = f32(graph, "another", {3}), n = norm(image), y = relu(n);
  auto out = [&](int i) { return Tensor(n.node(), i); };
  std::vector<Tensor> operands{relu_grad(f32(graph, "seed", {2, 4, 4, 3}), y), image, another,
                               out(1), out(3)};
  Tensor dx(apply(batch_norm_grad_op, operands, BatchNormGradOptions{}), 0);
  ASSERT_THAT(fused({y, dx}), ElementsAre("batch_norm_train", "batch_norm_grad"));
  EXPECT_EQ(gate_of(1), ReluGate::output);
  EXPECT_EQ(program.outputs[1].node().input(5).node().id(), program.outputs[0].node().id());
}

TEST_F(FuseBatchNorm, NotBackwardThroughABroadcast) {
  Tensor masked = relu_grad(norm(image), f32(graph, "row", {3}));
  std::vector<Tensor> xs{image};
  std::vector<Tensor> found = gradients(masked, xs, f32(graph, "seed", {2, 4, 4, 3}));
  fused({found[0]});
  EXPECT_EQ(program.outputs[0].shape(), image.shape());
}

TEST_F(FuseBatchNorm, BackwardThroughAResidual) {
  Tensor y = relu(norm(image) + other);
  Tensor seed = f32(graph, "seed", {2, 4, 4, 3});
  std::vector<Tensor> xs{image, other};
  std::vector<Tensor> found = gradients(y, xs, seed);
  EXPECT_THAT(fused({y, found[0], found[1]}), ElementsAre("batch_norm_train", "batch_norm_grad"));
  EXPECT_TRUE(program.outputs[1].node().as<BatchNormGradOptions>().residual);
  EXPECT_EQ(gate_of(1), ReluGate::output);
  EXPECT_EQ(program.outputs[2].node().id(), program.outputs[1].node().id());
  EXPECT_EQ(program.outputs[2].index(), 3);
}

// A mask of bits takes the place of the output where ReLU follows upon a residual, on GPUs and in
// 16 bits.
TEST_F(FuseBatchNorm, BackwardThroughAResidualByAMask) {
  for (DType dtype : {DType::bf16, DType::f32})
    for (std::int64_t channels : {16, 12})
      for (bool on_host : {false, true}) {
        Graph graph;
        Tensor x = input(graph, "x", {{2, 4, 4, channels}, dtype}),
               other = input(graph, "other", x.type()), seed = input(graph, "seed", x.type()),
               scale = f32(graph, "scale", {channels}), offset = f32(graph, "offset", {channels});
        Tensor y = relu(batch_norm_train(x, scale, offset).y + other);
        std::vector<Tensor> xs{x, other};
        std::vector<Tensor> found = gradients(y, xs, seed);
        ASSERT_THAT(fused({y, found[0], found[1]}, on_host),
                    ElementsAre("batch_norm_train", "batch_norm_grad"));
        bool mask = dtype == DType::bf16 && channels == 16 && !on_host;
        EXPECT_EQ(gate_of(1), mask ? ReluGate::mask : ReluGate::output);
        const Tensor& gate = program.outputs[1].node().input(5);
        EXPECT_EQ(gate.node().id(), program.outputs[0].node().id());
        EXPECT_EQ(gate.index(), mask ? 4 : 0);
        EXPECT_EQ(gate.type(), (mask ? TensorType{{64}, DType::u8} : x.type()));
      }
}

// Nobody would read it.
TEST_F(FuseBatchNorm, NoMaskWithoutAGradient) {
  Tensor x = input(graph, "x16", {{2, 4, 4, 16}, DType::bf16});
  Tensor more = input(graph, "more", x.type());
  Tensor factor = f32(graph, "factor", {16});
  fused({relu(batch_norm_train(x, factor, factor).y + more)}, /*on_host=*/false);
  EXPECT_EQ(program.outputs[0].node().outputs().size(), 4);
}

// ---- sum_relu_gradients

class SumReluGradients : public Pass {
 protected:
  std::vector<std::string> fused(const std::vector<Tensor>& outputs, bool on_host = false) {
    program = sum_relu_gradients(program_of(outputs), [=](int) { return on_host; });
    return ops_of(program);
  }
  Tensor relu_gradient(DType dtype) {
    return relu_grad(input(graph, concat("dy", dtype), {{4, 3, 8}, dtype}),
                     input(graph, concat("y", dtype), {{4, 3, 8}, dtype}));
  }
  Program program;
};

TEST_F(SumReluGradients, IntoOneOp) {
  Tensor dx = relu_gradient(DType::f32);
  EXPECT_THAT(fused({dx, sum(dx, {.axes = {0, 1}})}), ElementsAre("relu_grad_sum"));
  EXPECT_EQ(program.outputs[0].index(), 0);
  EXPECT_EQ(program.outputs[1].index(), 1);
  EXPECT_THAT(fused({dx, sum(dx, {.axes = {0, 1}})}, /*on_host=*/true),
              ElementsAre("relu_grad", "sum"));
}

TEST_F(SumReluGradients, SumsIn32BitsToo) {
  Tensor dx = relu_gradient(DType::bf16), bias = sum(cast(dx, DType::f32), {.axes = {0, 1}});
  EXPECT_THAT(fused({dx, bias}), ElementsAre("relu_grad_sum"));
  EXPECT_EQ(program.outputs[1].type(), (TensorType{{8}, DType::f32}));
}

TEST_F(SumReluGradients, NotOtherSums) {
  Tensor dx = relu_gradient(DType::f32), narrow = relu_gradient(DType::bf16);
  for (const Tensor& t :
       {sum(dx, {.axes = {0}}), sum(dx, {.axes = {1, 2}}), sum(dx), sum(narrow, {.axes = {0, 1}}),
        sum(relu_grad(exp(f32(graph, "a", {4, 8})), f32(graph, "b", {4, 8})), {.axes = {0}})})
    EXPECT_EQ(fused({t}).back(), "sum") << to_string(t.node());
}

// ---- add_to_input_gradients

class AddToInputGradients : public Pass {
 protected:
  Program fused(const std::vector<Tensor>& outputs, bool on_host = false) {
    return add_to_input_gradients(program_of(outputs), [=](int) { return on_host; });
  }
  Tensor gradient() { return conv2d_grad_input(dy, kernel, {Conv2dOptions{}, {4, 4}}); }
  Tensor dy = f32(graph, "dy", {1, 4, 4, 3}), kernel = f32(graph, "kernel", {3, 3, 2, 3});
  Tensor other = f32(graph, "other", {1, 4, 4, 2});
};

TEST_F(AddToInputGradients, OnEitherSideOfTheSum) {
  for (Tensor sum : {gradient() + other, other + gradient()}) {
    Program p = fused({sum});
    EXPECT_THAT(ops_of(p), ElementsAre("conv2d_grad_input"));
    EXPECT_EQ(p.outputs[0].node().input(2).node().as<InputOptions>().name, "other");
  }
}

TEST_F(AddToInputGradients, OneAddendEach) {
  Program p = fused({gradient() + gradient() + other});
  EXPECT_THAT(ops_of(p), UnorderedElementsAre("conv2d_grad_input", "conv2d_grad_input", "add"));
  EXPECT_TRUE(p.outputs[0].node().is(functor::Add::op));
}

TEST_F(AddToInputGradients, NotWhereTheGradientIsReadAgainOrTheSumBroadcasts) {
  Tensor read_twice = gradient();
  EXPECT_THAT(ops_of(fused({read_twice + other, read_twice})),
              UnorderedElementsAre("conv2d_grad_input", "add"));
  EXPECT_THAT(ops_of(fused({gradient() + f32(graph, "bias", {2})})),
              UnorderedElementsAre("conv2d_grad_input", "add"));
}

TEST_F(AddToInputGradients, NotOnCpus) {
  EXPECT_THAT(ops_of(fused({gradient() + other}, true)),
              UnorderedElementsAre("conv2d_grad_input", "add"));
}

// ---- fuse_elementwise

class FuseElementwise : public Pass {
 protected:
  std::vector<std::string> fused(const std::vector<Tensor>& outputs) {
    program = fuse_elementwise(program_of(outputs));
    return ops_of(program);
  }
  std::string formula() { return to_string(program.outputs[0].node().as<FusedOptions>().program); }
  Program program;
};

TEST_F(FuseElementwise, AChainBecomesOneOp) {
  EXPECT_THAT(fused({exp((x - y) * x)}), ElementsAre("fused_elementwise"));
  EXPECT_EQ(program.outputs[0].node().inputs().size(), 2u);
  EXPECT_EQ(formula(), "v2=sub(v0,v1); v3=mul(v2,v0); v4=exp(v3)");
}

TEST_F(FuseElementwise, InputsMayBroadcastButNoStepInside) {
  Tensor row = f32(graph, "row", {3}), scalar = f32(graph, "s", {});
  EXPECT_THAT(fused({(x + row) * scalar}), ElementsAre("fused_elementwise"));
  // exp(row) would be computed for every row of x.
  EXPECT_THAT(fused({x + exp(row)}), ElementsAre("exp", "add"));
}

TEST_F(FuseElementwise, ValuesWithSeveralReadersStay) {
  Tensor shared = exp(x);
  EXPECT_THAT(fused({sqrt(shared) * shared}), ElementsAre("exp", "fused_elementwise"));
  EXPECT_THAT(fused({sqrt(shared), shared}), ElementsAre("exp", "sqrt"));
}

TEST_F(FuseElementwise, OneOpAloneStays) { EXPECT_THAT(fused({exp(x)}), ElementsAre("exp")); }

TEST_F(FuseElementwise, ConditionsTakePart) {
  EXPECT_THAT(fused({where(greater(x, y), exp(x), y)}), ElementsAre("fused_elementwise"));
}

TEST_F(FuseElementwise, OtherTypesStay) {
  Tensor a = input(graph, "a", {{2}, DType::i64}), d = input(graph, "d", {{2}, DType::f64});
  EXPECT_THAT(fused({a * a + a}), ElementsAre("mul", "add"));
  EXPECT_THAT(fused({exp(exp(d))}), ElementsAre("exp", "exp"));
}

TEST_F(FuseElementwise, CastsAtTheEndsTakePart) {
  Tensor bytes = input(graph, "bytes", {{2, 3}, DType::u8});
  EXPECT_THAT(fused({cast(cast(bytes, DType::f32) * 0.5, DType::bf16)}),
              ElementsAre("fused_elementwise"));
  EXPECT_EQ(formula(), "v2=mul(v0,v1)");
  EXPECT_EQ(program.outputs[0].type(), (TensorType{{2, 3}, DType::bf16}));
  EXPECT_TRUE(program.outputs[0].node().as<FusedOptions>().casts);

  Tensor half = input(graph, "half", {{2, 3}, DType::f16});
  EXPECT_THAT(fused({tanh(cast(half, DType::f32)) + x}), ElementsAre("fused_elementwise"));
  EXPECT_EQ(formula(), "v2=tanh(v0); v3=add(v2,v1)");
  EXPECT_EQ(program.outputs[0].dtype(), DType::f32);
  EXPECT_THAT(fused({greater(cast(half, DType::f32), x)}), ElementsAre("fused_elementwise"));
  EXPECT_EQ(program.outputs[0].dtype(), DType::boolean);
}

// 16 bits in the middle of a chain would be rounded, and are.
TEST_F(FuseElementwise, OtherCastsStay) {
  Tensor narrow = cast(exp(x), DType::bf16);
  EXPECT_THAT(fused({tanh(narrow)}), ElementsAre("fused_elementwise", "tanh"));
  EXPECT_THAT(fused({tanh(cast(narrow, DType::f32))}),
              ElementsAre("fused_elementwise", "fused_elementwise"));
  EXPECT_THAT(fused({cast(exp(narrow), DType::f32)}),
              ElementsAre("fused_elementwise", "exp", "cast"));
  Tensor half = input(graph, "half", {{2, 3}, DType::f16});
  EXPECT_THAT(fused({cast(cast(half, DType::f32), DType::bf16)}), ElementsAre("cast", "cast"));
  EXPECT_THAT(fused({cast(greater(x, y), DType::f32) * x}), ElementsAre("greater", "cast", "mul"));
  EXPECT_THAT(fused({exp(cast(x, DType::bf16))}), ElementsAre("cast", "exp"));
}

TEST_F(FuseElementwise, LongChainsAreCut) {
  Tensor t = x;
  for (int i = 0; i < 40; ++i) t = tanh(t);
  EXPECT_THAT(fused({t}),
              ElementsAre("fused_elementwise", "fused_elementwise", "fused_elementwise"));
  std::size_t instructions = 0;
  for (const auto& node : *program.graph)
    if (node->is(fused_elementwise_op)) {
      std::size_t count = node->as<FusedOptions>().program.size();
      EXPECT_LE(count, 16u);
      instructions += count;
    }
  EXPECT_EQ(instructions, 40u);
}

TEST_F(FuseElementwise, InputsAreBounded) {
  Tensor t = x;
  for (int i = 0; i < 14; ++i) t = t + f32(graph, concat("i", i), {2, 3});
  fused({t});
  for (const auto& node : *program.graph) EXPECT_LE(node->inputs().size(), 12u);
}

TEST_F(FuseElementwise, PhasesStayApart) {
  Tensor forward = exp(x), late;
  {
    Graph::PlacementGuard guard(graph, {"", 0, Phase::update});
    late = tanh(forward);
  }
  EXPECT_THAT(fused({late}), ElementsAre("exp", "tanh"));
}

}  // namespace
}  // namespace belfry
