#include "belfry/models/sequences/generate.h"

#include "../sequences_support.h"

namespace belfry::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Tokens = std::vector<std::int32_t>;

GptOptions tiny(GptBlock block) {
  GptOptions o{.vocabulary = 7,
               .context = 24,
               .depth = 2,
               .width = 8,
               .heads = 2,
               .block = block,
               .dropout = 0};
  if (block == GptBlock::llama) o.kv_heads = 1;
  return o;
}

/// The model whose variables are waves.
PredictBatch waves(const GptOptions& o) {
  return [o](const Features& batch) {
    Features out;
    for (auto& [name, array] : predictions_of_waves(gpt(o), batch)) out.set(name, array);
    return out;
  };
}

/// By predictions of whole rows, which need no cache.
Tokens written_at_length(const GptOptions& o, Tokens row, int tokens, const GenerateOptions& g) {
  Tokens out;
  for (int i = 0; i < tokens; ++i) {
    Array all = Array::of(std::span<const std::int32_t>(row), {1, std::ssize(row)});
    Array logits = waves(o)({{"token", all}}).at("logits");
    out.push_back(sample_token(std::as_const(logits).span<float>(), 0, g));
    row.push_back(out.back());
  }
  return out;
}

// ---- draws

const std::vector<float> eighths{std::log(1.0f), std::log(2.0f), std::log(4.0f), std::log(1.0f)};

TEST(SampleToken, DrawsByProbability) {
  auto token = [](double u) { return sample_token(eighths, u); };
  EXPECT_EQ(token(0), 0);
  EXPECT_EQ(token(0.12), 0);
  EXPECT_EQ(token(0.13), 1);
  EXPECT_EQ(token(0.37), 1);
  EXPECT_EQ(token(0.38), 2);
  EXPECT_EQ(token(0.87), 2);
  EXPECT_EQ(token(0.88), 3);
  EXPECT_EQ(token(0x1.fffffffffffffp-1), 3);
}

// The root of a temperature squares: 1, 4, 16 and 1 of 22.
TEST(SampleToken, TemperatureSharpens) {
  auto token = [](double u, double t) { return sample_token(eighths, u, {.temperature = t}); };
  EXPECT_EQ(token(0.9 / 22, 0.5), 0);
  EXPECT_EQ(token(1.1 / 22, 0.5), 1);
  EXPECT_EQ(token(4.9 / 22, 0.5), 1);
  EXPECT_EQ(token(5.1 / 22, 0.5), 2);
  EXPECT_EQ(token(20.9 / 22, 0.5), 2);
  EXPECT_EQ(token(21.1 / 22, 0.5), 3);
  EXPECT_EQ(token(0.99, 0), 2);
  EXPECT_EQ(token(0.99, 1e-9), 2);
}

TEST(SampleToken, KeepsTheLikeliest) {
  // Tokens 2 and 1, of weights 4 and 2.
  auto two = [](double u) { return sample_token(eighths, u, {.top_k = 2}); };
  EXPECT_EQ(two(0.66), 2);
  EXPECT_EQ(two(0.67), 1);
  // Probabilities 1/2, 1/4, 1/8, 1/8 as many as reach top_p: one, two, three.
  auto p = [](double u, double top_p) { return sample_token(eighths, u, {.top_p = top_p}); };
  EXPECT_EQ(p(0.99, 0.49), 2);
  EXPECT_EQ(p(0.99, 0.51), 1);
  EXPECT_EQ(p(0.66, 0.51), 2);
  EXPECT_EQ(p(0.99, 0.76), 0);
  EXPECT_EQ(p(0.99, 1), 3);
  // Behind top_k: of 4 and 2 the first alone is 0.66.
  EXPECT_EQ(sample_token(eighths, 0.99, {.top_k = 2, .top_p = 0.6}), 2);
  EXPECT_EQ(sample_token(eighths, 0.99, {.top_k = 2, .top_p = 0.7}), 1);
}

TEST(SampleToken, EqualLogitsPreferTheLowerToken) {
  EXPECT_EQ(sample_token(std::vector<float>{1, 2, 2}, 0.9, {.temperature = 0}), 1);
  EXPECT_EQ(sample_token(std::vector<float>{1, 2, 2}, 0.9, {.top_k = 1}), 1);
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(sample_token(std::vector<float>{never, 2, never}, 0.9), 1);
}

// ---- the cache

// Two rows of different lengths, in chunks that end within them, behind them and at their end.
TEST(Generate, WritesWhatWholeRowsWould) {
  for (GptBlock block : {GptBlock::gpt2, GptBlock::llama})
    for (std::int64_t chunk : {1, 2, 3, 5, 64}) {
      GptOptions o = tiny(block);
      GenerateOptions greedy{.tokens = 6, .temperature = 0, .chunk = chunk, .places = 14};
      Tokens first{3, 1, 4, 1, 5, 2}, second{6, 0};
      auto found = generate(o, waves(o), {first, second}, greedy);
      ASSERT_THAT(found, SizeIs(2));
      EXPECT_EQ(found[0], written_at_length(o, first, 6, greedy)) << to_string(block) << chunk;
      EXPECT_EQ(found[1], written_at_length(o, second, 6, greedy)) << to_string(block) << chunk;
    }
}

TEST(Generate, LogitsAreThoseOfWholeRows) {
  for (GptBlock block : {GptBlock::gpt2, GptBlock::llama}) {
    GptOptions o = tiny(block);
    std::vector<double> whole, stepwise;
    Tokens row{3, 1, 4, 1, 5, 2};
    for (std::size_t size = 4; size <= row.size(); ++size) {
      Array tokens = Array::of(std::span<const std::int32_t>(row).first(size),
                               {1, static_cast<std::int64_t>(size)});
      for (double x : numbers(waves(o)({{"token", tokens}}).at("logits"))) whole.push_back(x);
    }
    int calls = 0;
    PredictBatch steps = [&](const Features& batch) {
      Features given = batch;
      if (++calls > 1) given.set("token", Array::of<std::int32_t>({row[2 + calls]}, {1, 1}));
      Features out = waves(o)(given);
      for (double x : numbers(out.at("logits"))) stepwise.push_back(x);
      return out;
    };
    generate(o, steps, {Tokens(row.begin(), row.begin() + 4)}, {.tokens = 3, .places = 9});
    EXPECT_EQ(calls, 3);
    EXPECT_THAT(stepwise, near(whole, 2e-5));
  }
}

TEST(Generate, EndsARow) {
  GptOptions o = tiny(GptBlock::llama);
  // A model that counts: token + 1 is all but sure.
  PredictBatch counts = [&](const Features& batch) {
    Features out = waves(o)(batch);
    const Array &token = batch.at("token"), &length = batch.at("length");
    Array logits = Array::zeros({token.shape()[0], 7});
    for (std::int64_t row = 0; row < token.shape()[0]; ++row) {
      std::int64_t last = row * token.shape()[1] + length.span<std::int32_t>()[row] - 1;
      logits.span<float>()[row * 7 + (token.span<std::int32_t>()[last] + 1) % 7] = 1000;
    }
    out.set("logits", logits);
    return out;
  };
  std::vector<std::pair<std::int64_t, std::int32_t>> seen;
  auto found = generate(o, counts, {{5, 6, 0}, {3}},
                        {.tokens = 4, .end = 2, .each = [&](std::int64_t row, std::int32_t token) {
                           seen.emplace_back(row, token);
                         }});
  EXPECT_THAT(found, ElementsAre(ElementsAre(1, 2), ElementsAre(4, 5, 6, 0)));
  EXPECT_THAT(seen, ElementsAre(std::pair(0, 1), std::pair(1, 4), std::pair(0, 2), std::pair(1, 5),
                                std::pair(1, 6), std::pair(1, 0)));
  EXPECT_THAT(generate(o, counts, {}, {}), SizeIs(0));
}

// A trained model, alive and exported, with one thread and with two; rows draw on their own.
TEST(Generate, GivesTheSameTextForTheSameSeed) {
  GptOptions o = tiny(GptBlock::llama);
  Features batch{{"token", Array::of<std::int64_t>({0, 3, 6, 2, 5, 1}, {1, 6})},
                 {"label", Array::of<std::int64_t>({3, 6, 2, 5, 1, 4}, {1, 6})}};
  TemporaryFolder folder;
  Estimator estimator({.model_fn = gpt(o), .model_dir = folder / "model", .run = quiet()});
  estimator.train(one_batch(batch, true), {.steps = 5});
  GenerateOptions options{.tokens = 10, .seed = 3};
  auto written = generate(o, estimator.predictor(), {{0}, {0}}, options);
  EXPECT_NE(written[0], written[1]);
  EXPECT_EQ(generate(o, estimator.predictor(), {{0}}, options)[0], written[0]);
  options.seed = 4;
  EXPECT_NE(generate(o, estimator.predictor(), {{0}, {0}}, options), written);
  options.seed = 3;
  std::string path = estimator.export_model(
      folder / "export", {.signatures = {{"predict", {.inputs = gpt_step_inputs(o, 1, 64)}}}});
  for (int threads : {1, 2}) {
    Predictor exported = Predictor::load(path, {.threads = threads});
    EXPECT_EQ(generate(o, exported, {{0}, {0}}, options), written) << threads;
  }
}

TEST(Generate, ErrorsSayWhatDoesNotFit) {
  GptOptions o = tiny(GptBlock::gpt2);
  auto error = [&](const std::vector<Tokens>& prompts, const GenerateOptions& g) {
    return error_of([&] { generate(o, waves(o), prompts, g); });
  };
  EXPECT_EQ(error({{1}, {}}, {}),
            "generate: row 1 has no prompt; begin with a token that stands for a beginning");
  EXPECT_EQ(error({{1, 7}}, {}), "generate: token 7 in row 0 is outside 0..6");
  EXPECT_EQ(error({{1, -1}}, {}), "generate: token -1 in row 0 is outside 0..6");
  EXPECT_EQ(error({{1, 2}}, {.tokens = 23}),
            "generate: a prompt of 2 and 23 new tokens are more than the model's context, 24");
  EXPECT_EQ(error({{1, 2}}, {.tokens = 9, .places = 10}),
            "generate: a prompt of 2 and 9 new tokens are more than the option places, 10");
  EXPECT_EQ(error({{1}}, {.tokens = 0}), "generate: tokens must be 1 to 1073741824, got 0");
  EXPECT_EQ(error({{1}}, {.tokens = std::numeric_limits<std::int64_t>::max()}),
            "generate: tokens must be 1 to 1073741824, got 9223372036854775807");
  EXPECT_EQ(error({{1}}, {.chunk = 0}), "generate: chunk must be 1 to 1073741824, got 0");
  EXPECT_EQ(error({{1}}, {.top_k = -1}), "generate: top_k must be 0 to 1073741824, got -1");
  EXPECT_EQ(error({{1}}, {.places = -1}), "generate: places must be 0 to 1073741824, got -1");
  EXPECT_EQ(error({{1}}, {.temperature = -1}), "generate: temperature must be at least 0, got -1");
  EXPECT_EQ(error({{1}}, {.top_p = 0}), "generate: top_p must be above 0 and at most 1, got 0");
  EXPECT_EQ(error_of([] { sample_token({}, 0); }), "sample_token: there are no logits");
  EXPECT_EQ(error_of([] {
              sample_token(std::vector{1.0f, std::numeric_limits<float>::quiet_NaN()}, 0);
            }),
            "sample_token: the logit of token 1 is NaN");
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of([&] {
              sample_token(std::vector{1.0f, infinite}, 0);
            }),
            "sample_token: the highest logit, of token 1, is inf");
  EXPECT_EQ(error_of([&] { sample_token(std::vector{-infinite}, 0); }),
            "sample_token: the highest logit, of token 0, is -inf");
  EXPECT_EQ(error_of([] { sample_token(std::vector{1.0f}, 0, {.top_p = 2}); }),
            "sample_token: top_p must be above 0 and at most 1, got 2");
  PredictBatch logits_alone = [&](const Features& batch) -> Features {
    return {{"logits", waves(o)(batch).at("logits")}};
  };
  EXPECT_EQ(error_of([&] { generate(o, logits_alone, {{1}}, {.tokens = 2}); }),
            "generate: the model does not predict `keys0`; let it predict all that gpt() does");
  PredictBatch other_vocabulary = [&](const Features& batch) {
    Features out = waves(o)(batch);
    out.set("logits", Array::zeros({1, 5}));
    return out;
  };
  EXPECT_EQ(error_of([&] { generate(o, other_vocabulary, {{1}}, {.tokens = 2}); }),
            "generate: the model's logits are f32[1, 5], expected f32[1, 7] for the option "
            "vocabulary");
  PredictBatch nowhere = [&](const Features& batch) {
    Features out = waves(o)(batch);
    for (float& x : out.at("logits").span<float>()) x = std::numeric_limits<float>::quiet_NaN();
    return out;
  };
  EXPECT_THAT(error_of([&] { generate(o, nowhere, {{1}}, {.tokens = 1}); }),
              HasSubstr("the logit of token 0 is NaN (row 0, new token 0)"));
}

}  // namespace
}  // namespace belfry::models
