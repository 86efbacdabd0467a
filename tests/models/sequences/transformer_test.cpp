#include "belfry/models/sequences/transformer.h"

#include "../sequences_support.h"
#include "belfry/models/make.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

const TransformerOptions tiny{
    .depth = 2, .width = 4, .heads = 2, .hidden = 6, .feature = "x", .lengths = "length"};

Features two_rows(double padding) {
  Array x = wave({2, 3, 3}, 0);
  for (std::size_t i = 15; i < 18; ++i) x.span<double>()[i] = padding;
  return {{"x", x}, {"length", Array::of<std::int64_t>({3, 2})}};
}

// PyTorch 2's TransformerEncoder in f64, of two TransformerEncoderLayers (norm_first, gelu) and a
// last norm, with a Linear layer and sines in front, a mean or the first place and a Linear layer
// behind; the second row's last place is padding.
TEST(Transformer, ComputesWhatPyTorchDoes) {
  for (double padding : {0.0, 1e3}) {
    TransformerOptions o = tiny;
    EXPECT_THAT(
        numbers(predictions_of_waves(transformer(o), two_rows(padding)).at("probabilities")),
        near({0.826718569245, 0.173281430755, 0.851574907248, 0.148425092752}));
    o.pool_mean = false;
    EXPECT_THAT(
        numbers(predictions_of_waves(transformer(o), two_rows(padding)).at("probabilities")),
        near({0.862446083260, 0.137553916740, 0.861753451540, 0.138246548460}));
  }
}

std::int64_t count(TransformerOptions o, Features features) {
  features.set("label", Array::zeros({1}, DType::i64));
  return parameter_count(transformer(std::move(o)), one_batch(features));
}

// A layer of the paper's base model has 3,152,384 parameters (PyTorch's
// TransformerEncoderLayer(512, 8, 2048)), one of BERT's 7,087,872.
TEST(Transformer, ABlockHasThePublishedParameters) {
  Features tokens{{"token", Array::zeros({1, 2}, DType::i64)}};
  auto block = [&](std::int64_t width, std::int64_t hidden) {
    TransformerOptions o{.vocabulary = 2, .depth = 1, .width = width, .heads = 8, .hidden = hidden};
    std::int64_t with = count(o, tokens);
    o.depth = 0;
    return with - count(o, tokens);
  };
  EXPECT_EQ(block(512, 2048), 3'152'384);
  EXPECT_EQ(block(768, 3072), 7'087'872);
}

TEST(Transformer, HasTheParametersOfItsParts) {
  std::int64_t block = 4 * 8 * 8 + 2 * 8 * 5 + 9 * 8 + 5;
  TransformerOptions o{.classes = 3, .vocabulary = 11, .depth = 2, .width = 8, .hidden = 5};
  Features tokens{{"token", Array::zeros({1, 7}, DType::i32)}};
  std::int64_t others = 2 * 8 + (8 * 3 + 3);
  EXPECT_EQ(count(o, tokens), 11 * 8 + 2 * block + others);
  o.learned_positions = true;
  o.longest = 9;
  EXPECT_EQ(count(o, tokens), (11 + 9) * 8 + 2 * block + others);
  Features features{{"token", Array::zeros({1, 7, 6})}, {"label", Array::zeros({1}, DType::i64)}};
  EXPECT_EQ(count(o, features), (6 + 1 + 9) * 8 + 2 * block + others);
  ModelFn made =
      make("transformer", R"({"classes": 3, "depth": 2, "width": 8, "hidden": 5, "heads": 2})");
  EXPECT_EQ(parameter_count(made, one_batch(features)), (6 + 1) * 8 + 2 * block + others);
}

// Whether a 1 comes before the 2: only who knows places can tell.
TEST(Transformer, LearnsWhatComesFirst) {
  Array tokens = Array::zeros({32, 6}, DType::i64), labels(Shape{32}, DType::i64);
  PhiloxStream random(philox_key(5, "tokens"));
  for (std::size_t row = 0; row < 32; ++row) {
    std::uint64_t a = random.below(6), b = (a + 1 + random.below(5)) % 6;
    tokens.span<std::int64_t>()[row * 6 + a] = 1;
    tokens.span<std::int64_t>()[row * 6 + b] = 2;
    labels.span<std::int64_t>()[row] = a < b;
  }
  Features batch{{"token", tokens}, {"label", labels}};
  for (bool learned : {false, true}) {
    Estimator estimator({.model_fn = transformer({.vocabulary = 3,
                                                  .depth = 1,
                                                  .width = 16,
                                                  .hidden = 32,
                                                  .learned_positions = learned,
                                                  .longest = 6,
                                                  .dropout = 0,
                                                  .optimizer = adam({.learning_rate = 0.01})}),
                         .model_dir = new_folder(),
                         .run = quiet()});
    estimator.train(one_batch(batch, true), {.steps = 100});
    EXPECT_EQ(estimator.evaluate(one_batch(batch)).at("accuracy"), 1);
  }
}

TEST(Transformer, LengthsOutOfRangeAreNamedWithTheirRow) {
  auto error = [](const Array& lengths) {
    Features batch = two_rows(0);
    batch.set("length", lengths);
    batch.set("label", Array::zeros({2}, DType::i64));
    return training_error(transformer(tiny), batch);
  };
  EXPECT_THAT(error(Array::of<std::int64_t>({3, 999})),
              HasSubstr("transformer: the feature `length` at row 1 is 999, above 3; `x` is "
                        "f64[2, 3, 3], and padded_batch() adds its lengths by the option .lengths "
                        "(at length)"));
  EXPECT_THAT(error(Array::of({-1, 3})), HasSubstr("`length` at row 0 is -1, below 0; "));
  EXPECT_THAT(error(Array::of<std::int64_t>({3})),
              HasSubstr("transformer: the feature `length` must be [2], a number for each row, got "
                        "i64[1]"));
  EXPECT_THAT(error(Array::of({3.0f, 3.0f})), HasSubstr("lengths must be i32 or i64 [n]"));
  EXPECT_EQ(error(Array::of({0, 3})), "no error");
}

TEST(Transformer, WhatDoesNotFitIsRefused) {
  auto error = [](TransformerOptions o, Array x) {
    return training_error(transformer(std::move(o)),
                          {{"token", std::move(x)}, {"label", Array::zeros({1}, DType::i64)}});
  };
  Array tokens = Array::of<std::int64_t>({0, 5}, {1, 2});
  EXPECT_THAT(error({}, tokens), HasSubstr("the option vocabulary must say how many there are"));
  EXPECT_THAT(error({.vocabulary = 5}, tokens), HasSubstr("index 5 at position 1 is outside 0..4"));
  EXPECT_THAT(error({.vocabulary = 6, .learned_positions = true, .longest = 1}, tokens),
              HasSubstr("a batch of 2 places is longer than the option longest, 1"));
  EXPECT_THAT(error({.vocabulary = 6}, tokens.reshape({2})),
              HasSubstr("must be whole numbers [n, t] or floating [n, t, c], t not 0, got i64[2]"));
  EXPECT_THAT(error({}, Array::zeros({1, 0, 3})), HasSubstr("got f32[1, 0, 3]"));
  EXPECT_THAT(error_of([] { transformer({.width = 10, .heads = 4}); }),
              HasSubstr("4 heads do not divide a width of 10"));
  EXPECT_THAT(error_of([] { transformer({.classes = 1}); }), HasSubstr("1 classes"));
}

}  // namespace
}  // namespace belfry::models
