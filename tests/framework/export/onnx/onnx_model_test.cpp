// The files of all models, and of models of all ops, are run by onnxruntime:
// tests/python/read_onnx.py.
#include "belfry/framework/export/onnx/onnx_model.h"

#include "../export_testing.h"
#include "belfry/framework/layers/recurrent.h"
#include "belfry/framework/ops/elementwise/elementwise.h"

namespace belfry::onnx {
namespace {

using ::testing::ElementsAre;

// The contents of model.onnx for predictions from x [n, 1, 1, channels].
OnnxGraph exported(const ModelFn& model, std::int64_t channels, const NamedArrays& variables) {
  TemporaryFolder dir;
  ExportSignature of_x{.inputs = {{"x", {{1, 1, channels}, DType::f32}}}};
  std::string path = export_model(dir.path(), {.model_fn = model, .signatures = {{"y", of_x}}},
                                  Checkpoint{.variables = variables});
  NamedArrays weights = load_safetensors(path + "/model.safetensors").tensors;
  saved::Model read = saved::model_from_json(read_file(path + "/graph.json"), weights);
  check_convertible(read.signatures.at("y"), "y");
  return convert(read.signatures.at("y"), weights, "y");
}

std::vector<std::string> ops(const OnnxGraph& graph) {
  std::vector<std::string> types;
  for (const OnnxNode& node : graph.nodes) types.push_back(node.type);
  return types;
}

std::vector<float> values(const OnnxGraph& graph, const std::string& initializer) {
  auto all = graph.initializers.at(initializer).span<float>();
  return {all.begin(), all.end()};
}

// A functor that names an operator of ONNX needs no conversion: so a new one is exported by itself.
TEST(OnnxModel, AFunctorIsTheOperatorThatItNames) {
  for_each_functor([](auto functor) {
    using F = decltype(functor);
    if (F::onnx.empty() || F::arity > 2) return;
    auto model = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
      Tensor x = batch["x"];
      if (F::domain == Domain::boolean) x = greater(x, x * 0.5);
      std::vector<Tensor> operands(F::arity, x);
      return {.predictions = {{"y", cast(Tensor(apply(F::op, operands)), DType::f32)}}};
    };
    EXPECT_THAT(ops(exported(model, 2, {})), ::testing::Contains(std::string(F::onnx))) << F::name;
  });
}

Tensor norm(const Scope& s, Tensor x) {
  return batch_norm(s / "norm", x, {.training = false, .epsilon = 0.25});
}

// The variables of a batch norm of two channels: times 2 plus 4, times 1.5 plus 12.5.
const NamedArrays norm_of_2{{"norm/scale", vector_of({4, 6}, {2})},
                            {"norm/offset", vector_of({10, 20}, {2})},
                            {"norm/moving_mean", vector_of({3, 5}, {2})},
                            {"norm/moving_variance", vector_of({3.75f, 15.75f}, {2})}};

NamedArrays with(NamedArrays variables, const NamedArrays& more) {
  variables.insert(more.begin(), more.end());
  return variables;
}

TEST(OnnxModel, BatchNormIsPartOfTheConvolutionBeforeIt) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = conv2d(s / "conv", batch["x"], {.filters = 2, .kernel = 1});
    return {.predictions = {{"y", relu(norm(s, x))}}};
  };
  OnnxGraph graph = exported(model, 1,
                             with(norm_of_2, {{"conv/kernel", vector_of({2, 3}, {1, 1, 1, 2})},
                                              {"conv/bias", vector_of({1, 2}, {2})}}));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "Conv", "Relu", "Transpose", "Identity"));
  ASSERT_EQ(graph.nodes[1].inputs.size(), 3u);
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[1]), ElementsAre(4, 4.5));
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[2]), ElementsAre(6, 15.5));
  EXPECT_EQ(graph.initializers.size(), 2u);
}

// In two groups: channels 0 and 1 come from the first two of x, 2 and 3 from the others.
TEST(OnnxModel, BatchNormIsPartOfTheTransposedConvolutionBeforeIt) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = conv2d_transpose(s / "conv", batch["x"], {.filters = 4, .kernel = 1, .groups = 2});
    return {.predictions = {{"y", norm(s, x)}}};
  };
  OnnxGraph graph =
      exported(model, 4,
               {{"conv/kernel", vector_of({1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 2, 4})},
                {"conv/bias", vector_of({1, 2, 3, 4}, {4})},
                {"norm/scale", vector_of({1, 10, 100, 1000}, {4})},
                {"norm/offset", vector_of({0, 0, 0, 7}, {4})},
                {"norm/moving_mean", vector_of({0, 0, 1, 0}, {4})},
                {"norm/moving_variance", vector_of({0.75f, 0.75f, 0.75f, 0.75f}, {4})}});
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "ConvTranspose", "Transpose", "Identity"));
  const auto& inputs = graph.nodes[1].inputs;
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(graph.initializers.at(inputs[1]).shape(), (Shape{4, 2, 1, 1}));
  EXPECT_THAT(values(graph, inputs[1]), ElementsAre(1, 50, 2, 60, 300, 7000, 400, 8000));
  EXPECT_THAT(values(graph, inputs[2]), ElementsAre(1, 20, 200, 4007));
}

TEST(OnnxModel, AConvolutionThatOthersReadStaysAsItIs) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = conv2d(s / "conv", batch["x"], {.filters = 2, .kernel = 1, .use_bias = false});
    return {.predictions = {{"before", x}, {"y", norm(s, x)}}};
  };
  OnnxGraph graph =
      exported(model, 1, with(norm_of_2, {{"conv/kernel", vector_of({2, 3}, {1, 1, 1, 2})}}));
  ASSERT_EQ(graph.nodes.at(1).type, "Conv");
  ASSERT_EQ(graph.nodes[1].inputs.size(), 2u);
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[1]), ElementsAre(2, 3));
  EXPECT_THAT(ops(graph), ElementsAre("Transpose", "Conv", "Mul", "Add", "Transpose", "Identity",
                                      "Transpose", "Identity"));
}

// conv1d is a conv2d of images with one row, and a reshape.
TEST(OnnxModel, BatchNormIsPartOfAConvolutionBeforeAReshape) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = reshape(batch["x"], {-1, 1, 1});
    x = conv1d(s / "conv", x, {.filters = 2, .kernel = 1});
    return {.predictions = {{"y", relu(norm(s, x))}}};
  };
  OnnxGraph graph = exported(model, 1,
                             with(norm_of_2, {{"conv/kernel", vector_of({2, 3}, {1, 1, 2})},
                                              {"conv/bias", vector_of({1, 2}, {2})}}));
  ASSERT_THAT(ops(graph), ElementsAre("Reshape", "Reshape", "Transpose", "Conv", "Transpose",
                                      "Reshape", "Relu", "Identity"));
  ASSERT_EQ(graph.nodes[3].inputs.size(), 3u);
  EXPECT_THAT(values(graph, graph.nodes[3].inputs[1]), ElementsAre(4, 4.5));
  EXPECT_THAT(values(graph, graph.nodes[3].inputs[2]), ElementsAre(6, 15.5));
  EXPECT_EQ(graph.nodes[6].inputs, graph.nodes[5].outputs);
}

TEST(OnnxModel, AConvolutionBeforeAReshapeThatOthersReadStaysAsItIs) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = conv2d(s / "conv", batch["x"], {.filters = 2, .kernel = 1, .use_bias = false});
    x = reshape(x, {-1, 2});
    return {.predictions = {{"before", x}, {"y", norm(s, x)}}};
  };
  OnnxGraph graph =
      exported(model, 1, with(norm_of_2, {{"conv/kernel", vector_of({2, 3}, {1, 1, 1, 2})}}));
  ASSERT_THAT(ops(graph), ElementsAre("Transpose", "Conv", "Transpose", "Reshape", "Mul", "Add",
                                      "Identity", "Identity"));
  ASSERT_EQ(graph.nodes[1].inputs.size(), 2u);
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[1]), ElementsAre(2, 3));
}

// The two elements of a row behind the reshape are two pixels of one channel.
TEST(OnnxModel, FactorsThatDifferWithinAChannelStay) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = reshape(batch["x"], {-1, 2, 1, 1});
    x = conv2d(s / "conv", x, {.filters = 1, .kernel = 1, .use_bias = false});
    return {.predictions = {{"y", norm(s, reshape(x, {-1, 2}))}}};
  };
  OnnxGraph graph =
      exported(model, 2, with(norm_of_2, {{"conv/kernel", vector_of({2}, {1, 1, 1, 1})}}));
  EXPECT_THAT(ops(graph), ElementsAre("Reshape", "Transpose", "Conv", "Transpose", "Reshape", "Mul",
                                      "Add", "Identity"));
}

TEST(OnnxModel, FactorsThatRepeatElementsStay) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = conv2d(s / "conv", batch["x"], {.filters = 2, .kernel = 1, .use_bias = false});
    return {.predictions = {{"y", reshape(x, {-1, 1}) * s.variable("factor", {.shape = {2}})}}};
  };
  OnnxGraph graph = exported(
      model, 1,
      {{"conv/kernel", vector_of({2, 3}, {1, 1, 1, 2})}, {"factor", vector_of({4, 5}, {2})}});
  EXPECT_THAT(ops(graph),
              ElementsAre("Transpose", "Conv", "Transpose", "Reshape", "Mul", "Identity"));
}

// As generators begin: the four units are two pixels of two channels.
TEST(OnnxModel, BatchNormIsPartOfTheDenseLayerBeforeAReshape) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = dense(s / "dense", reshape(batch["x"], {-1, 2}), {.units = 4});
    return {.predictions = {{"y", norm(s, reshape(x, {-1, 1, 2, 2}))}}};
  };
  OnnxGraph graph =
      exported(model, 2,
               with(norm_of_2, {{"dense/kernel", vector_of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})},
                                {"dense/bias", vector_of({1, 2, 3, 4}, {4})}}));
  ASSERT_THAT(ops(graph), ElementsAre("Reshape", "MatMul", "Add", "Reshape", "Identity"));
  ASSERT_EQ(graph.nodes[1].inputs.size(), 2u);
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[1]), ElementsAre(2, 3, 6, 6, 10, 9, 14, 12));
  EXPECT_EQ(graph.nodes[2].inputs[0], graph.nodes[1].outputs[0]);
  EXPECT_THAT(values(graph, graph.nodes[2].inputs[1]), ElementsAre(6, 15.5, 10, 18.5));
}

TEST(OnnxModel, FactorsAloneAddNoBiasToAProduct) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = matmul(reshape(batch["x"], {-1, 1}), s.variable("kernel", {.shape = {1, 2}}));
    return {.predictions = {{"y", relu(s.variable("factor", {.shape = {2}}) * x)}}};
  };
  OnnxGraph graph = exported(
      model, 1, {{"kernel", vector_of({2, 3}, {1, 2})}, {"factor", vector_of({4, 5}, {2})}});
  ASSERT_THAT(ops(graph), ElementsAre("Reshape", "MatMul", "Relu", "Identity"));
  EXPECT_THAT(values(graph, graph.nodes[1].inputs[1]), ElementsAre(8, 15));
  EXPECT_EQ(graph.nodes[2].inputs, graph.nodes[1].outputs);
}

TEST(OnnxModel, AProductWithABiasAloneHasTheVariables) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = matmul(reshape(batch["x"], {-1, 1}), s.variable("kernel", {.shape = {1, 2}}));
    return {.predictions = {{"y", x + s.variable("term", {.shape = {2}})}}};
  };
  OnnxGraph graph =
      exported(model, 1, {{"kernel", vector_of({2, 3}, {1, 2})}, {"term", vector_of({4, 5}, {2})}});
  ASSERT_THAT(ops(graph), ElementsAre("Reshape", "MatMul", "Add", "Identity"));
  EXPECT_EQ(graph.nodes[1].inputs[1], "kernel");
  EXPECT_EQ(graph.nodes[2].inputs[1], "term");
}

const OnnxNode& node_of(const OnnxGraph& graph, std::string_view type) {
  return *std::ranges::find(graph.nodes, type, &OnnxNode::type);
}

// Gates i, f, g, o become i, o, f, c. x W + b is made by the ops in front, so W takes each to its
// gate.
TEST(OnnxModel, GatesAreInTheOrderOfOnnx) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = reshape(batch["x"], {-1, 2, 1});
    return {.predictions = {{"y", lstm(s, x, {.units = 1, .recurrent_bias = true}).y}}};
  };
  OnnxGraph graph = exported(model, 2,
                             {{"kernel", vector_of({1, 2, 3, 4}, {1, 4})},
                              {"bias", vector_of({5, 6, 7, 8}, {4})},
                              {"recurrent_kernel", vector_of({10, 20, 30, 40}, {1, 4})},
                              {"recurrent_bias", vector_of({11, 21, 31, 41}, {4})}});
  const OnnxNode& node = node_of(graph, "LSTM");
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_THAT(values(graph, node.inputs[1]),
              ElementsAre(1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(values(graph, node.inputs[2]), ElementsAre(10, 40, 20, 30));
  EXPECT_THAT(values(graph, node.inputs[3]), ElementsAre(0, 0, 0, 0, 11, 41, 21, 31));
  EXPECT_EQ(node.outputs.size(), 3u);
}

// Their gates are ONNX's, whose GRU needs to be told that reset comes behind the product.
TEST(OnnxModel, OtherCellsAreGruAndRnn) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = reshape(batch["x"], {-1, 2, 1});
    Tensor y = gru(s / "gru", x, {.units = 1, .bidirectional = true}).y;
    return {.predictions = {
                {"y", recurrent_layers(s / "rnn", y, RecurrentCell::relu, {.units = 1}).y}}};
  };
  NamedArrays weights{{"rnn/kernel", vector_of({1, 1}, {2, 1})},
                      {"rnn/bias", vector_of({0}, {1})},
                      {"rnn/recurrent_kernel", vector_of({2}, {1, 1})}};
  for (std::string way : {"gru/forward/", "gru/backward/"}) {
    weights[way + "kernel"] = weights[way + "recurrent_kernel"] = vector_of({1, 2, 3}, {1, 3});
    weights[way + "bias"] = weights[way + "recurrent_bias"] = vector_of({4, 5, 6}, {3});
  }
  OnnxGraph graph = exported(model, 2, weights);
  const OnnxNode &gates = node_of(graph, "GRU"), &plain = node_of(graph, "RNN");
  EXPECT_THAT(values(graph, gates.inputs[2]), ElementsAre(1, 2, 3));
  EXPECT_THAT(values(graph, gates.inputs[3]), ElementsAre(0, 0, 0, 4, 5, 6));
  auto has = [](const OnnxNode& node, const std::string& name, const AttributeValue& value) {
    return std::ranges::count(node.attributes, std::pair(name, value)) == 1;
  };
  EXPECT_TRUE(has(gates, "linear_before_reset", std::int64_t{1}));
  EXPECT_TRUE(has(plain, "activations", Words{"Relu"}));
  EXPECT_EQ(std::ranges::count_if(graph.nodes,
                                  [&](const OnnxNode& node) {
                                    return has(node, "direction", std::string("reverse"));
                                  }),
            1);
}

}  // namespace
}  // namespace belfry::onnx
