#include "belfry/models/sequences/acoustic.h"

#include <algorithm>

#include "../sequences_support.h"
#include "belfry/models/make.h"

namespace belfry::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const AcousticOptions tiny{.labels = 2, .filters = {4, 4}, .kernel = 3, .dropout = 0};

Features two_rows(double padding) {
  Array audio = wave({2, 5, 3}, 0);
  for (std::size_t i = 15 + 3 * 3; i < 30; ++i) audio.span<double>()[i] = padding;
  return {{"audio", audio}, {"audio_length", Array::of<std::int64_t>({5, 3})}};
}

// The same layers in PyTorch 2, f64 (Conv1d, BatchNorm1d in eval mode, ReLU, the sum with the input
// in the second layer, Linear), where each row is a batch of its own without padding.
TEST(Acoustic, ComputesWhatPyTorchDoes) {
  for (double padding : {0.0, 1e6}) {
    auto got = predictions_of_waves(acoustic(tiny), two_rows(padding));
    EXPECT_EQ(to_string(got.at("logits").type()), "f64[2, 3, 3]");
    EXPECT_THAT(numbers(got.at("logits_length")), ElementsAre(3, 2));
    EXPECT_THAT(
        numbers(got.at("logits").row(0)),
        near({-1.978807191285, -0.909648702152, 0.587331785257, -0.946669421261, -0.930426070675,
              -0.476588800741, 0.089362030160, 0.110532795416, 0.079718259865}));
    EXPECT_THAT(numbers(got.at("logits").row(1).rows(0, 2)),
                near({-1.307125358638, -0.543276296257, 0.476084097180, -0.314464273835,
                      -0.065790722578, 0.213825233516}));
    // The largest logits are of classes 2, 2, 1 and 2, 2.
    EXPECT_THAT(numbers(got.at("decoded")), ElementsAre(2, 1, -1, 2, -1, -1));
    EXPECT_THAT(numbers(got.at("decoded_length")), ElementsAre(2, 1));
  }
}

// A layer with a stride has no sum with its input, also where both have one frame.
TEST(Acoustic, PaddingDecidesNothingWhereOneFrameIsLeft) {
  AcousticOptions o = tiny;
  o.strides = {1, 2};
  for (double start : {0.0, 2.0}) {
    Array one = wave({1, 1, 4}, start);
    Array three = Array::zeros({1, 3, 4}, DType::f64);
    std::ranges::copy(one.span<double>(), three.span<double>().begin());
    Array length = Array::of<std::int64_t>({1});
    auto logits = [&](const Array& audio) {
      auto got = predictions_of_waves(acoustic(o), {{"audio", audio}, {"audio_length", length}});
      return numbers(got.at("logits").row(0).row(0));
    };
    EXPECT_THAT(logits(three), near(logits(one), 1e-12));
  }
}

TEST(Acoustic, HasTheParametersOfItsLayers) {
  Features batch = two_rows(0);
  batch.set("label", Array::of<std::int64_t>({1, 2, 1, 1}, {2, 2}));
  batch.set("label_length", Array::of<std::int64_t>({2, 1}));
  EXPECT_EQ(parameter_count(acoustic(tiny), one_batch(batch)),
            (3 * 3 * 4 + 2 * 4) + (3 * 4 * 4 + 2 * 4) + (4 * 3 + 3));
  ModelFn made = make("acoustic", R"({"labels": 7, "filters": [4], "strides": [], "kernel": 1})");
  EXPECT_EQ(parameter_count(made, one_batch(batch)), (3 * 4 + 2 * 4) + (4 + 1) * 8);
}

// Strides one after the other: 7 frames are 4, then 2; 4 frames are 2, then 1; none stay none.
TEST(Acoustic, LengthsGoThroughTheStrides) {
  AcousticOptions o = tiny;
  o.strides = {2, 2};
  auto got = predictions_of_waves(
      acoustic(o), {{"audio", wave({4, 7, 3}, 0)}, {"audio_length", Array::of({7, 5, 4, 0})}});
  EXPECT_EQ(got.at("logits").shape(), (Shape{4, 2, 3}));
  EXPECT_THAT(numbers(got.at("logits_length")), ElementsAre(2, 2, 1, 0));
}

/// Words of the labels 1 and 2, each label 4 frames of its band, with silence between.
Features spoken(const std::vector<std::vector<std::int64_t>>& words) {
  auto n = static_cast<std::int64_t>(words.size());
  Array audio = Array::zeros({n, 24, 3}), lengths(Shape{n}, DType::i64);
  Array labels = Array::zeros({n, 3}, DType::i64), label_lengths(Shape{n}, DType::i64);
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (std::size_t i = 0; i < words[w].size(); ++i) {
      labels.span<std::int64_t>()[w * 3 + i] = words[w][i];
      for (std::size_t t = 6 * i; t < 6 * i + 4; ++t)
        audio.span<float>()[(w * 24 + t) * 3 + static_cast<std::size_t>(words[w][i])] = 1;
    }
    lengths.span<std::int64_t>()[w] = std::ssize(words[w]) * 6 + 2;
    label_lengths.span<std::int64_t>()[w] = std::ssize(words[w]);
  }
  return {{"audio", audio},
          {"audio_length", lengths},
          {"label", labels},
          {"label_length", label_lengths}};
}

TEST(Acoustic, LearnsToSpell) {
  Features words = spoken({{1}, {2}, {1, 2}, {2, 1}, {1, 1}, {2, 2, 1}, {1, 2, 2}, {2, 1, 2}});
  AcousticOptions o{.labels = 2,
                    .filters = {8, 8},
                    .kernel = 5,
                    .dropout = 0,
                    .optimizer = adam({.learning_rate = 0.02})};
  Estimator estimator({.model_fn = acoustic(o), .model_dir = new_folder(), .run = quiet()});
  EvalResult before = estimator.evaluate(one_batch(words));
  EXPECT_GT(before.at("character_error_rate"), 0.3);
  estimator.train(one_batch(words, true), {.steps = 200});
  EvalResult after = estimator.evaluate(one_batch(words));
  EXPECT_EQ(after.at("character_error_rate"), 0);
  EXPECT_EQ(after.at("word_error_rate"), 0);
  EXPECT_LT(after.at("loss"), 0.1);
}

TEST(Acoustic, WhatDoesNotFitIsRefused) {
  Features words = spoken({{1}, {2, 2, 1}});
  auto error = [&](const char* feature, Array value) {
    Features changed = words;
    changed.set(feature, std::move(value));
    return training_error(acoustic(tiny), changed);
  };
  EXPECT_THAT(error("audio_length", Array::of<std::int64_t>({8, 6})),
              HasSubstr("acoustic: the feature `audio_length` at row 1 is 6, below 7; a frame "
                        "of logits is 2 of these, and a row needs one for each label in `label` "
                        "and one more between equal neighbours: leave such rows out, or set "
                        "zero_infinity (at audio_length)"));
  EXPECT_THAT(error("audio_length", Array::of<std::int64_t>({8, 25})),
              HasSubstr("acoustic: the feature `audio_length` at row 1 is 25, above 24; `audio` is "
                        "f32[2, 24, 3], and padded_batch() adds its lengths by the option .lengths "
                        "(at audio_length)"));
  EXPECT_THAT(error("label_length", Array::of<std::int64_t>({1, 4})),
              HasSubstr("acoustic: the feature `label_length` at row 1 is 4, above 3; `label` is "
                        "i64[2, 3], and padded_batch() adds its lengths by the option .lengths (at "
                        "label_length)"));
  EXPECT_THAT(
      error("label_length", Array::of<std::int64_t>({1})),
      HasSubstr("the feature `label_length` must be [2], a number for each row, got i64[1]"));
  EXPECT_THAT(error("label", Array::of<std::int64_t>({3, 0, 0, 2, 2, 1}, {2, 3})),
              HasSubstr("ctc_loss: label 3 at row 0, position 0 is outside 0..2"));
  EXPECT_THAT(error("audio", Array::zeros({2, 0, 3})),
              HasSubstr("acoustic: the feature `audio` must be [n, t, bands] with at least one "
                        "frame, got f32[2, 0, 3]"));
  EXPECT_THAT(error("audio", Array::zeros({2, 24})), HasSubstr("got f32[2, 24]"));
  EXPECT_THAT(training_error(acoustic(tiny), {{"audio", Array::zeros({2, 4, 3})}}),
              HasSubstr("audio_length"));
  EXPECT_THAT(error_of([] { acoustic({.kernel = 4}); }), HasSubstr("a kernel of 4"));
  EXPECT_THAT(error_of([] {
                acoustic({.filters = {8}, .strides = {2, 2}});
              }),
              HasSubstr("filters 8 and strides 2, 2; expected"));
}

// With strides 2 and 3 the k labels of a row, of which no two neighbours are equal, need 6 (k - 1)
// + 1 frames; what stands behind a row's length is no neighbour.
TEST(Acoustic, RowsOfJustEnoughFramesAreTaken) {
  AcousticOptions o = tiny;
  o.strides = {2, 3};
  Features words{{"audio", Array::zeros({3, 24, 3})},
                 {"label", Array::of<std::int64_t>({1, 2, 2, 1, 1, 1, 0, 0, 0}, {3, 3})},
                 {"label_length", Array::of<std::int64_t>({2, 1, 0})}};
  struct Case {
    std::int64_t first, second, third;
    bool fits;
  };
  for (auto [first, second, third, fits] :
       std::vector<Case>{{7, 1, 0, true}, {6, 1, 0, false}, {7, 0, 0, false}, {24, 24, 24, true}}) {
    words.set("audio_length", Array::of<std::int64_t>({first, second, third}));
    EXPECT_EQ(training_error(acoustic(o), words) == "no error", fits) << first << " " << second;
  }
}

TEST(Acoustic, RowsThatDoNotFitMayCountNothing) {
  AcousticOptions o = tiny;
  o.zero_infinity = true;
  Features words = spoken({{1}, {2, 2, 1}});
  words.set("audio_length", Array::of<std::int64_t>({8, 1}));
  EXPECT_EQ(training_error(acoustic(o), words), "no error");
}

TEST(Acoustic, TakesAnEmptyBatch) {
  auto got = predictions_of_waves(
      acoustic(tiny),
      {{"audio", Array::zeros({0, 5, 3})}, {"audio_length", Array::zeros({0}, DType::i64)}});
  EXPECT_EQ(got.at("decoded").shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace belfry::models
