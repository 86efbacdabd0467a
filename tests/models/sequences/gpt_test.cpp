#include "belfry/models/sequences/gpt.h"

#include "../sequences_support.h"

namespace belfry::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const GptOptions tiny{
    .vocabulary = 7, .context = 6, .depth = 1, .width = 8, .heads = 2, .dropout = 0};

Features two_rows() {
  return {{"token", Array::of<std::int64_t>({3, 1, 4, 1, 5, 2, 6, 0, 5, 3}, {2, 5})}};
}

// By PyTorch 2 in f64: layer_norm, linear layers, scaled_dot_product_attention, gelu's tanh form.
TEST(Gpt, ComputesWhatPyTorchDoes) {
  auto found = predictions_of_waves(gpt(tiny), two_rows());
  EXPECT_THAT(
      numbers(found.at("logits")),
      near({-3.13952694, -4.51905036, -3.87011562, -1.48400881, 1.56822230, 3.91652830, 4.50682912,
            -3.13858461, -4.51861044, -3.87037557, -1.48485196, 1.56717442, 3.91574604, 4.50666363},
           2e-5));
  EXPECT_THAT(numbers(found.at("next")), ElementsAre(6, 6));
}

// Two heads share one of keys and values; positions by rotation, silu's gate, RMS norms.
TEST(Gpt, BlocksOfLlamaComputeWhatPyTorchDoes) {
  GptOptions o = tiny;
  o.block = GptBlock::llama;
  o.kv_heads = 1;
  o.hidden = 12;
  o.tied = false;
  EXPECT_THAT(
      numbers(predictions_of_waves(gpt(o), two_rows()).at("logits")),
      near({-2.84470933, -1.20022027, 1.00875115, 2.74329115, 3.18761853, 2.13275892, 0.07482967,
            -2.62358611, -0.78957081, 1.41579198, 2.95528571, 3.10486245, 1.79417368, -0.36034280},
           2e-5));
}

// Documents in one row give what each gives alone, and so does padding behind a row.
TEST(Gpt, DocumentsOfARowAreApart) {
  for (GptBlock block : {GptBlock::gpt2, GptBlock::llama}) {
    GptOptions o = tiny;
    o.block = block;
    auto logits = [&](const Features& batch) {
      return numbers(predictions_of_waves(gpt(o), batch).at("logits"));
    };
    Features packed{{"token", Array::of<std::int32_t>({3, 1, 4, 5, 2}, {1, 5})},
                    {"position", Array::of<std::int32_t>({0, 1, 2, 0, 1}, {1, 5})}};
    Features second{{"token", Array::of<std::int32_t>({5, 2}, {1, 2})}};
    EXPECT_THAT(logits(packed), near(logits(second), 2e-5)) << to_string(block);
    packed.set("length", Array::of<std::int32_t>({3}, {1}));
    Features first{{"token", Array::of<std::int32_t>({3, 1, 4}, {1, 3})}};
    EXPECT_THAT(logits(packed), near(logits(first), 2e-5)) << to_string(block);
  }
}

TEST(Gpt, HasThePublishedParameters) {
  Graph graph;
  Batch batch(graph, {{"token", {{1, 2}, DType::i64}}});
  gpt()(Scope(graph), batch, Mode::predict);
  std::int64_t count = 0;
  for (const Node* v : graph.variables()) count += v->output().shape.elements();
  EXPECT_EQ(count, 124'439'808);
}

// Embeddings of zeros make equal logits: ln 7 a token, and what is labelled -1 does not count.
TEST(Gpt, TheLossIsOfTheTokensThatCount) {
  Graph graph;
  Batch batch(graph, {{"token", {{2, 5}, DType::i64}}, {"label", {{2, 5}, DType::i64}}});
  EstimatorSpec spec = gpt(tiny)(Scope(graph), batch, Mode::evaluate);
  std::map<std::string, Array> given{{"token", two_rows().at("token")},
                                     {"embed/table", Array::zeros({7, 8})}};
  given["label"] = Array::of<std::int64_t>({0, -1, -1, 6, 1, -1, -1, -1, -1, -1}, {2, 5});
  std::vector<Array> found =
      evaluate({spec.loss, spec.metrics[0].second.state, spec.metrics[1].second.state}, given);
  EXPECT_NEAR(found[0].item(), std::log(7.0), 1e-6);
  EXPECT_NEAR(spec.metrics[0].second.value(found[1].span<double>()).item(), std::log(7.0), 1e-6);
  EXPECT_NEAR(spec.metrics[1].second.value(found[2].span<double>()).item(), 7, 1e-5);
  given["label"] = Array::of<std::int64_t>({0, 7, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 5});
  EXPECT_THAT(error_of([&] { evaluate({spec.loss}, given); }), HasSubstr("label 7"));
}

// A chain of tokens that each follow from the one before is learned to the last.
TEST(Gpt, LearnsWhatComesNext) {
  for (GptBlock block : {GptBlock::gpt2, GptBlock::llama}) {
    GptOptions o = tiny;
    o.block = block;
    o.optimizer = adam({.learning_rate = 0.01});
    Features batch{{"token", Array::of<std::int64_t>({0, 3, 6, 2, 5, 1}, {1, 6})},
                   {"label", Array::of<std::int64_t>({3, 6, 2, 5, 1, 4}, {1, 6})}};
    Estimator estimator({.model_fn = gpt(o), .model_dir = new_folder(), .run = quiet()});
    estimator.train(one_batch(batch, true), {.steps = 100});
    EvalResult found = estimator.evaluate(one_batch(batch));
    EXPECT_LT(found.at("perplexity"), 1.2) << to_string(block);
  }
}

TEST(Gpt, ErrorsNameTheFeature) {
  EXPECT_THAT(training_error(gpt(tiny), {{"token", Array::zeros({1, 7}, DType::i64)},
                                         {"label", Array::zeros({1, 7}, DType::i64)}}),
              HasSubstr("gpt: a row of 7 tokens is longer than the option context, 6"));
  EXPECT_THAT(training_error(gpt(tiny), {{"token", Array::zeros({1, 3})}}),
              HasSubstr("gpt: the feature `token` must be whole numbers [n, t], t not 0, got f32"));
  EXPECT_THAT(training_error(gpt(tiny), {{"token", Array::zeros({1, 3}, DType::i64)},
                                         {"label", Array::zeros({1, 2}, DType::i64)}}),
              HasSubstr("gpt: the feature `label` must be whole numbers [1, 3], got i64[1, 2]"));
  EXPECT_THAT(training_error(gpt(tiny), {{"token", Array::zeros({1, 3}, DType::i64)},
                                         {"position", Array::zeros({1, 2}, DType::i64)}}),
              HasSubstr("gpt: the feature `position` must be whole numbers [1, 3], got i64[1, 2]"));
  Features goes_on{{"token", Array::zeros({1, 1}, DType::i64)},
                   {"position", Array::zeros({1, 1}, DType::i64)}};
  auto error = [&] { return error_of([&] { predictions_of_waves(gpt(tiny), goes_on); }); };
  goes_on.set("past_keys0", Array::zeros({1, 7, 2, 4}));
  EXPECT_THAT(error(), HasSubstr("gpt: a cache of 7 tokens is longer than the option context, 6"));
  goes_on.set("past_keys0", Array::zeros({1, 5}));
  EXPECT_THAT(error(), HasSubstr("`past_keys0` must be f32[1, places, 2, 4], got f32[1, 5]"));
  goes_on.set("past_keys0", Array::zeros({1, 5, 3, 4}));
  EXPECT_THAT(
      error(),
      HasSubstr("gpt: the feature `past_keys0` must be f32[1, 5, 2, 4], got f32[1, 5, 3, 4]"));
  goes_on.set("past_keys0", Array::zeros({1, 5, 2, 4}));
  EXPECT_THAT(error(), HasSubstr("past_values0"));
}

TEST(Gpt, PositionsAndLengthsAreChecked) {
  auto error = [](const char* feature, Array array) {
    Features batch{{"token", Array::of<std::int64_t>({3, 1, 4}, {1, 3})}, {feature, array}};
    return error_of([&] { predictions_of_waves(gpt(tiny), batch); });
  };
  auto three = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return Array::of<std::int64_t>({a, b, c}, {1, 3});
  };
  EXPECT_EQ(error("position", three(0, 1, 0)), "no error");
  EXPECT_THAT(error("position", three(0, 1, 3)), HasSubstr("gpt: the feature `position`"));
  EXPECT_THAT(error("position", three(0, -1, 0)), HasSubstr("gpt: the feature `position`"));
  // Document that begins before the row.
  EXPECT_THAT(error("position", three(1, 2, 0)), HasSubstr("it counts from 0 in each document"));
  for (std::int64_t length : {0, 4})
    EXPECT_THAT(error("length", Array::of({length}, {1})), HasSubstr("gpt: the feature `length`"));
}

}  // namespace
}  // namespace belfry::models
