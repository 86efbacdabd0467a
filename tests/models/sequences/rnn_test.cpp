#include "belfry/models/sequences/rnn.h"

#include "../sequences_support.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

// The sign of the first step of a sequence, behind padding of any kind.
Features first_steps(float padding) {
  return {{"x", Array::of({1.0f, 0.2f, -0.1f, -1.0f, 0.1f, padding, 1.0f, padding, padding, -1.0f,
                           0.3f, -0.2f},
                          {4, 3, 1})},
          {"length", Array::of<std::int64_t>({3, 2, 1, 3})},
          {"label", Array::of<std::int64_t>({1, 0, 1, 0})}};
}

TEST(Rnn, RemembersWhatCameFirst) {
  for (RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::tanh}) {
    RnnOptions o{
        .cell = cell, .units = 8, .lengths = "length", .optimizer = adam({.learning_rate = 0.03})};
    Estimator estimator({.model_fn = rnn(o), .model_dir = new_folder(), .run = quiet()});
    estimator.train(one_batch(first_steps(0), true), {.steps = 60});
    EvalResult found = estimator.evaluate(one_batch(first_steps(0)));
    EXPECT_EQ(found.at("accuracy"), 1) << to_string(cell);
    EXPECT_LT(found.at("loss"), 0.1) << to_string(cell);
    // Padding is not read.
    EXPECT_EQ(estimator.evaluate(one_batch(first_steps(1e3f))).at("loss"), found.at("loss"));
  }
}

TEST(Rnn, ReadsTokensForAnyHead) {
  RnnOptions o{.units = 4,
               .layers = 2,
               .bidirectional = true,
               .vocabulary = 5,
               .width = 3,
               .feature = "token",
               .head = regression_head({.units = 2})};
  Graph graph;
  Batch batch(graph, {{"token", {{6, 7}, DType::i32}}});
  EstimatorSpec spec = rnn(o)(Scope(graph), batch, Mode::predict);
  EXPECT_EQ(spec.predictions[0].first, "value");
  EXPECT_EQ(to_string(spec.predictions[0].second.type()), "f32[6, 2]");
  auto type = [&](const char* name) { return to_string(graph.find_variable(name)->output()); };
  EXPECT_EQ(type("embed/table"), "f32[5, 3]");
  EXPECT_EQ(type("rnn/layer0/forward/kernel"), "f32[3, 16]");
  EXPECT_EQ(type("rnn/layer1/backward/kernel"), "f32[8, 16]");
  EXPECT_EQ(type("head/kernel"), "f32[8, 2]");
}

TEST(Rnn, ErrorsNameTheFeature) {
  Features batch = first_steps(0);
  EXPECT_THAT(training_error(rnn(), {{"x", Array::zeros({2, 3})}, {"label", batch.at("label")}}),
              HasSubstr("rnn: the feature `x` must be floating [n, t, c] or whole numbers [n, t]"));
  EXPECT_THAT(
      training_error(rnn({.feature = "length2"}),
                     {{"length2", Array::zeros({4, 3}, DType::i64)}, {"label", batch.at("label")}}),
      HasSubstr("holds tokens; the option vocabulary must say how many there are"));
  batch.set("length", Array::of<std::int64_t>({3, 4, 1, 3}));
  EXPECT_THAT(training_error(rnn({.lengths = "length"}), batch),
              HasSubstr("rnn: the feature `length`"));
}

}  // namespace
}  // namespace belfry::models
