// Covers batch_norm_train, batch_norm_recompute.cpp, batch_norm_grad.cpp,
// batch_norm_inference and norm.cpp.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

struct Small {
  Graph graph;
  // Channel 0: mean 2, variance 1; channel 1: mean 5, variance 25.
  Tensor x = floats(graph, {2, 2}, {1, 0, 3, 10});
  Tensor scale = floats(graph, {2}, {4, 1});
  Tensor offset = floats(graph, {2}, {10, 20});
};

TEST(BatchNormTrain, NormalisesEachChannel) {
  Small s;
  BatchNormResult r = batch_norm_train(s.x, s.scale, s.offset, 0);
  EXPECT_THAT(values(r.y), ElementsAre(6, 19, 14, 21));
  EXPECT_THAT(values(r.mean), ElementsAre(2, 5));
  EXPECT_THAT(values(r.variance), ElementsAre(1, 25));
}

TEST(BatchNormTrain, EpsilonIsAddedToTheVariance) {
  Small s;
  EXPECT_THAT(values(batch_norm_train(s.x, s.scale, s.offset, 3).y)[0], 10 - 4.0 / 2);
}

TEST(BatchNormTrain, LargeMeansKeepTheVariance) {
  Graph graph;
  Tensor x = floats(graph, {2, 1}, {1e6f - 1, 1e6f + 1});
  Tensor one = floats(graph, {1}, {1}), zero = floats(graph, {1}, {0});
  BatchNormResult r = batch_norm_train(x, one, zero, 0);
  EXPECT_THAT(values(r.variance), ElementsAre(1));
  EXPECT_THAT(values(r.y), ElementsAre(-1, 1));
}

TEST(BatchNormTrain, StatisticsOf16BitInputsAreF32) {
  Small s;
  BatchNormResult r = batch_norm_train(cast(s.x, DType::bf16), s.scale, s.offset, 0);
  EXPECT_EQ(r.y.dtype(), DType::bf16);
  EXPECT_EQ(r.mean.dtype(), DType::f32);
  EXPECT_THAT(values(r.y), ElementsAre(6, 19, 14, 21));
}

TEST(BatchNormTrain, ResidualAndActivationOfTheFusedForm) {
  Small s;
  Tensor residual = floats(s.graph, {2, 2}, {-7, 1, 2, -22});
  BatchNormOptions options{.epsilon = 0, .activation = Activation::relu, .residual = true};
  Node& node = apply(batch_norm_train_op, {s.x, s.scale, s.offset, residual}, options);
  EXPECT_THAT(values(Tensor(node)), ElementsAre(0, 20, 16, 0));
}

TEST(BatchNormTrain, AnEmptyBatchHasStatisticsZero) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({0, 3, 3, 2}));
  Tensor scale = floats(graph, {2}, {1, 1});
  BatchNormResult r = batch_norm_train(x, scale, scale);
  EXPECT_THAT(values(r.mean), ElementsAre(0, 0));
  EXPECT_THAT(values(r.variance), ElementsAre(0, 0));
  EXPECT_THAT(values(gradients(sum(r.y), {&scale, 1})[0]), ElementsAre(0, 0));
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = {{4, 4, 4, 8}, {2, 3, 5, 3}, {7, 1},
                                          {3, 17},      {1, 2, 1, 1}, {0, 2, 2, 3}};
  return list;
}

TEST(BatchNormTrain, PassesCheckOpInAllOutputs) {
  for (const Shape& x : shapes()) {
    SCOPED_TRACE(to_string(x));
    Shape c{x[x.rank() - 1]};
    EXPECT_EQ(
        check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    auto r = batch_norm_train(in[0], in[1], in[2], 0.1);
                    return {r.y, r.mean, r.variance};
                  },
                  .inputs = {noise(x), noise(c, 2), noise(c, 3)},
                  .wide = {1, 2}}),
        "");
  }
}

TEST(BatchNormTrain, FusedFormsPassCheckOp) {
  for (bool residual : {false, true})
    for (Activation activation : {Activation::none, Activation::relu}) {
      BatchNormOptions options{.epsilon = 0.1, .activation = activation, .residual = residual};
      std::vector<Array> inputs = {noise({3, 2, 2, 3}), noise({3}, 2), noise({3}, 3)};
      if (residual) inputs.push_back(noise({3, 2, 2, 3}, 4));
      auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
        return {apply1(batch_norm_train_op, {in.begin(), in.end()}, options)};
      };
      EXPECT_EQ(check_op({.build = build, .inputs = inputs, .wide = {1, 2}}), "");
      auto second = [&](const Scope& s, std::span<const Tensor> in) {
        return square_gradients(build(s, in)[0], in);
      };
      EXPECT_EQ(check_op({.build = second, .inputs = inputs, .rounding = 256, .wide = {1, 2}}), "");
    }
}

TEST(BatchNormTrain, SecondDerivativesPassCheckOp) {
  for (const Shape& x : {Shape{2, 3, 2, 3}, Shape{5, 1}, Shape{0, 2}}) {
    SCOPED_TRACE(to_string(x));
    Shape c{x[x.rank() - 1]};
    EXPECT_EQ(check_op({.build =
                            [](const Scope&, std::span<const Tensor> in) {
                              Tensor y = batch_norm_train(in[0], in[1], in[2], 0.1).y;
                              return square_gradients(y * in[0], in);
                            },
                        .inputs = {noise(x), noise(c, 2), noise(c, 3)},
                        .rounding = 256,
                        .wide = {1, 2}}),
              "");
  }
}

// The gradient computes the mask again, from the offset.
TEST(BatchNormGrad, PassesCheckOpWithTheOffset) {
  auto build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
    return {apply1(batch_norm_grad_op, {in.begin(), in.end()},
                   BatchNormGradOptions{.activation = Activation::relu, .gate = ReluGate::offset})};
  };
  EXPECT_EQ(check_op({.build = build,
                      .inputs = {noise({3, 2, 2, 3}), noise({3, 2, 2, 3}, 2), noise({3}, 3),
                                 noise({3}, 4), noise({3}, 5), noise({3}, 6)},
                      .rounding = 256,
                      .wide = {2, 3, 4, 5}}),
            "");
}

// Two channels of eight rows would do by hand: here each bit is compared with the output's sign.
TEST(BatchNormTrain, LeavesAMaskOfWhatReluLetThrough) {
  Graph graph;
  std::vector<Tensor> inputs{constant(graph, noise({3, 2, 2, 8})), constant(graph, noise({8}, 2)),
                             constant(graph, noise({8}, 3)),
                             constant(graph, noise({3, 2, 2, 8}, 4))};
  Node& train =
      apply(batch_norm_train_op, inputs,
            BatchNormOptions{.activation = Activation::relu, .residual = true, .mask = true});
  std::vector<Array> got = evaluate(std::vector{Tensor(train, 0), Tensor(train, 4)});
  ASSERT_EQ(got[1].type(), (TensorType{{12}, DType::u8}));
  int above = 0;
  for (std::int64_t i = 0; i < 96; ++i) {
    bool bit = static_cast<int>(got[1].at(i / 8)) >> i % 8 & 1;
    EXPECT_EQ(bit, got[0].at(i) > 0) << i;
    above += bit;
  }
  EXPECT_GT(above, 24);
  EXPECT_LT(above, 90);
}

TEST(BatchNormGrad, ByTheMaskIsThatByTheOutput) {
  Graph graph;
  auto numbers = [&](const Shape& shape, std::uint64_t seed) {
    return constant(graph, noise(shape, seed));
  };
  Tensor x = numbers({3, 2, 2, 8}, 1), scale = numbers({8}, 2);
  Node& train =
      apply(batch_norm_train_op, {x, scale, numbers({8}, 3), numbers({3, 2, 2, 8}, 4)},
            BatchNormOptions{.activation = Activation::relu, .residual = true, .mask = true});
  auto gradients_by = [&](ReluGate gate, int output) {
    Node& node = apply(batch_norm_grad_op,
                       {numbers({3, 2, 2, 8}, 5), x, scale, Tensor(train, 1), Tensor(train, 3),
                        Tensor(train, output)},
                       BatchNormGradOptions{Activation::relu, true, gate});
    return evaluate(
        std::vector{Tensor(node, 0), Tensor(node, 1), Tensor(node, 2), Tensor(node, 3)});
  };
  std::vector<Array> wanted = gradients_by(ReluGate::output, 0),
                     got = gradients_by(ReluGate::mask, 4);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(identical(got[i], wanted[i])) << i;
}

TEST(BatchNormRecompute, GivesWhatTrainGave) {
  for (bool residual : {false, true})
    for (Activation activation : {Activation::none, Activation::relu}) {
      Graph graph;
      Tensor x = constant(graph, noise({3, 2, 2, 3})), scale = constant(graph, noise({3}, 2)),
             offset = constant(graph, noise({3}, 3));
      std::vector<Tensor> inputs{x, scale, offset};
      if (residual) inputs.push_back(constant(graph, noise({3, 2, 2, 3}, 4)));
      Node& train = apply(batch_norm_train_op, inputs,
                          BatchNormOptions{.activation = activation, .residual = residual});
      inputs.insert(inputs.begin() + 3, {Tensor(train, 1), Tensor(train, 3)});
      Tensor again =
          apply1(batch_norm_recompute_op, inputs, BatchNormRecomputeOptions{activation, residual});
      EXPECT_EQ(values(again), values(Tensor(train, 0)));

      std::vector<Array> operands{noise({3, 2, 2, 3}), noise({3}, 2), noise({3}, 3), noise({3}, 5),
                                  noise({3}, 6)};
      if (residual) operands.push_back(noise({3, 2, 2, 3}, 4));
      auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
        return {apply1(batch_norm_recompute_op, {in.begin(), in.end()},
                       BatchNormRecomputeOptions{activation, residual})};
      };
      EXPECT_EQ(check_op({.build = build, .inputs = operands, .wide = {1, 2, 3, 4}}), "");
    }
}

TEST(BatchNormInference, UsesTheGivenStatistics) {
  Small s;
  Tensor mean = floats(s.graph, {2}, {1, 2}), variance = floats(s.graph, {2}, {13, 1});
  Tensor y = batch_norm_inference(s.x, s.scale, s.offset, mean, variance, 3);
  EXPECT_THAT(values(y), ElementsAre(10, 19, 12, 24));
  y = batch_norm_inference(cast(s.x, DType::f16), s.scale, s.offset, mean, variance, 3);
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_THAT(values(y), ElementsAre(10, 19, 12, 24));
}

TEST(BatchNormInference, PassesCheckOp) {
  for (const Shape& x : shapes()) {
    Shape c{x[x.rank() - 1]};
    EXPECT_EQ(
        check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {batch_norm_inference(in[0], in[1], in[2], in[3], square(in[4]), 0.1)};
                  },
                  .inputs = {noise(x), noise(c, 2), noise(c, 3), noise(c, 4), noise(c, 5)},
                  .wide = {1, 2, 3, 4}}),
        "");
  }
}

TEST(BatchNorm, ErrorsSayWhatDoesNotFit) {
  Small s;
  Tensor three = floats(s.graph, {3}, {1, 2, 3});
  EXPECT_EQ(error_of([&] { batch_norm_train(s.x, three, s.offset); }),
            "batch_norm_train: scale must be f32[2], got f32[3]");
  EXPECT_EQ(error_of([&] { batch_norm_train(s.x, s.scale, cast(s.offset, DType::bf16)); }),
            "batch_norm_train: offset must be f32[2], got bf16[2]");
  EXPECT_EQ(error_of([&] { batch_norm_train(s.x, s.scale, s.offset, -1); }),
            "batch_norm_train: epsilon must be at least 0, got -1");
  EXPECT_EQ(
      error_of([&] { batch_norm_train(constant(s.graph, 1, DType::f32), s.scale, s.offset); }),
      "batch_norm_train: input must be [..., c], got f32[]");
  EXPECT_EQ(error_of([&] { batch_norm_inference(s.x, s.scale, s.offset, three, s.scale); }),
            "batch_norm_inference: mean must be f32[2], got f32[3]");
}

}  // namespace
}  // namespace belfry::testing
