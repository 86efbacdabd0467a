#include "belfry/framework/train/model_summary.h"

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Pictures [n, 8, 8, 1]; the first layer is not trained.
EstimatorSpec small_net(Scope s, const Batch& batch, Mode mode) {
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 2, .kernel = 3});  // [n, 8, 8, 2]
  x = max_pool(relu(x));                                                       // [n, 4, 4, 2]
  x = batch_norm(s / "norm", x, {.training = mode == Mode::train});
  Tensor logits = dense(s / "head", flatten(x), {.units = 5});
  if (mode == Mode::predict) return {.predictions = {{"digit", argmax(logits, 1)}}};
  Tensor loss = mean(sparse_softmax_cross_entropy(logits, batch["label"]));
  std::vector<Variable> trained = trainable_variables(s.graph(), "norm");
  for (const Variable& v : trainable_variables(s.graph(), "head")) trained.push_back(v);
  return {.loss = loss, .train = minimize(loss, sgd(), trained)};
}

const Signature pictures{{"image", {{3, 8, 8, 1}, DType::f32}}, {"label", {{3}, DType::i64}}};

const LayerSummary& layer(const ModelSummary& summary, std::string_view scope) {
  for (const LayerSummary& l : summary.layers)
    if (l.scope == scope) return l;
  fail("no layer ", scope);
}

TEST(ModelSummary, CountsByHand) {
  ModelSummary found = summarize(small_net, Mode::train, pictures);
  ASSERT_EQ(found.layers.size(), 3u);
  EXPECT_EQ(found.rows, 3);

  const LayerSummary& conv = layer(found, "conv");
  EXPECT_THAT(conv.ops, ElementsAre("conv2d", "add", "relu", "max_pool"));
  EXPECT_EQ(conv.output.shape, Shape({3, 4, 4, 2}));
  EXPECT_EQ(conv.parameters, 9 * 2 + 2);
  EXPECT_EQ(conv.not_trained, 20);
  // 128 sums of 9 products; a bias and a relu for each; 32 windows of 4.
  EXPECT_EQ(conv.flops, 2 * 128 * 9 + 128 + 128 + 32 * 4);

  const LayerSummary& norm = layer(found, "norm");
  EXPECT_THAT(norm.ops, ElementsAre("batch_norm_train"));
  EXPECT_EQ(norm.output.shape, Shape({3, 4, 4, 2}));
  EXPECT_EQ(norm.parameters, 4);
  EXPECT_EQ(norm.not_trained, 0);
  EXPECT_EQ(norm.flops, 6 * 32);

  const LayerSummary& head = layer(found, "head");
  EXPECT_EQ(head.ops[0], "matmul");
  EXPECT_EQ(head.output.shape, Shape({3, 5}));
  EXPECT_EQ(head.parameters, 32 * 5 + 5);

  EXPECT_EQ(found.parameters.elements, 20 + 4 + 165);
  EXPECT_EQ(found.parameters.bytes, 4 * 189);
  EXPECT_EQ(found.not_trained.elements, 20);
  EXPECT_EQ(found.statistics.elements, 4);
  EXPECT_EQ(found.flops, conv.flops + norm.flops + head.flops);
}

TEST(ModelSummary, OfPredictions) {
  ModelSummary found = summarize(small_net, Mode::predict, pictures);
  EXPECT_EQ(layer(found, "conv").not_trained, 0);
  // x factor + term, which are rsqrt(variance + epsilon) scale and offset - mean factor of 2
  // channels, for all of the batch.
  EXPECT_DOUBLE_EQ(layer(found, "norm").flops, 2 * 32 + 5.0 * 2 / 3);
  EXPECT_EQ(layer(found, "head").flops, 2 * 32 * 5 + 5 + 5);  // with bias and argmax
}

// Two calls of one layer are twice the work and one set of variables.
TEST(ModelSummary, OfASharedLayer) {
  auto twice = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor once = dense(s / "shared", batch["x"], {.units = 4, .use_bias = false});
    Tensor again = dense((s / "shared").shared(), once, {.units = 4, .use_bias = false});
    return {.predictions = {{"y", again}}};
  };
  ModelSummary found = summarize(twice, Mode::predict, {{"x", {{2, 4}, DType::f32}}});
  EXPECT_EQ(layer(found, "shared").flops, 2 * 2 * 16);
  EXPECT_EQ(found.parameters.elements, 16);
}

// 2 * 10 * 100 twice, 2 * 10 * 1, and 5 * 10 of the softmax: all of an op's nodes count together.
TEST(ModelSummary, NamesTheOpWithTheMostWorkFirst) {
  auto mixed = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor wide = matmul(batch["x"], s.variable("in", {.shape = {10, 100}}));
    Tensor narrow = matmul(wide, s.variable("out", {.shape = {100, 10}}));
    Tensor score = matmul(narrow, s.variable("score", {.shape = {10, 1}}));
    return {.predictions = {{"score", score}, {"shares", softmax(narrow)}}};
  };
  ModelSummary found = summarize(mixed, Mode::predict, {{"x", {{3, 10}, DType::f32}}});
  const LayerSummary& mixture = layer(found, "");
  EXPECT_EQ(mixture.flops, 2000 + 2000 + 20 + 50);
  EXPECT_THAT(mixture.ops, ElementsAre("matmul", "softmax"));
  EXPECT_EQ(mixture.output.shape, Shape({3, 1}));
}

// As the comments beside the ops count.
TEST(ModelSummary, CountsWhatComputesWithoutBeingElementwise) {
  auto flops = [](const Signature& signature, auto result) {
    auto model = [&](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      return {.predictions = {{"y", result(s, batch)}}};
    };
    return summarize(model, Mode::predict, signature).flops;
  };
  Signature rows{{"x", {{3, 10}, DType::f32}}, {"label", {{3}, DType::i64}}};
  EXPECT_EQ(flops(rows, [](Scope, const Batch& b) { return argmax(b["x"], 1); }), 10);
  EXPECT_EQ(flops(rows, [](Scope, const Batch& b) { return argmin(b["x"], 1); }), 10);
  EXPECT_EQ(flops(rows,
                  [](Scope s, const Batch& b) {
                    return dropout(s, b["x"], {.rate = 0.5f, .training = true});
                  }),
            2 * 10);
  EXPECT_EQ(
      flops(rows,
            [](Scope, const Batch& b) { return sparse_softmax_cross_entropy(b["x"], b["label"]); }),
      5 * 10);
  Signature images{{"image", {{3, 2, 2, 5}, DType::f32}}};
  EXPECT_EQ(flops(images,
                  [](Scope, const Batch& b) {
                    return resize_bilinear(b["image"], {.size = {4, 6}});
                  }),
            9 * 4 * 6 * 5);
  Signature speech{{"x", {{3, 7, 4}, DType::f32}},
                   {"labels", {{3, 2}, DType::i64}},
                   {"frames", {{3}, DType::i64}},
                   {"length", {{3}, DType::i64}}};
  EXPECT_EQ(flops(speech,
                  [](Scope, const Batch& b) {
                    return ctc_loss(b["x"], b["labels"], b["frames"], b["length"]);
                  }),
            5 * 7 * 4 + 15 * 7 * (2 * 2 + 1));
}

TEST(ModelSummary, IsATable) {
  EXPECT_EQ(to_string(summarize(small_net, Mode::train, pictures)),
            "layer  ops                          output             size parameters   FLOPs\n"
            "conv   conv2d, add, relu, max_pool  [n, 4, 4, 2]      128 B        20*   2.69k\n"
            "norm   batch_norm_train             [n, 4, 4, 2]      128 B          4     192\n"
            "head   matmul, add                  [n, 5]             20 B        165     351\n"
            "parameters: 189, 756 B; * of them not trained: 20, 80 B\n"
            "statistics: 4, 16 B\n"
            "forward pass (train): 3.23k FLOPs an example; a multiply and an add are two\n");
}

TEST(ModelSummary, IsTheEstimators) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = saving_nothing()});
  InputFn input = once({points({1, 2}, {3, 4})});
  EXPECT_EQ(estimator.summary(input, Mode::predict),
            to_string(summarize(linear, Mode::predict, signature_of(points({1, 2}, {3, 4})))));
  EXPECT_THAT(error_of([&] { estimator.summary(once({})); }), HasSubstr("summary: the input has"));
  InputFn other = once({{{"z", Array::scalar(1.0)}}});
  EXPECT_THAT(error_of([&] { estimator.summary(other); }),
              HasSubstr("while building the train model for"));
}

}  // namespace
}  // namespace belfry
