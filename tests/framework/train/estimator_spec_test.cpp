#include "belfry/framework/train/estimator_spec.h"

#include "belfry/framework/train/model/model.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Spec : public ::testing::Test {
 protected:
  Tensor scalar(DType dtype = DType::f32) { return constant(graph_, 1, dtype); }
  Tensor vector() { return constant(graph_, Array::of({1.f, 2.f})); }
  EstimatorSpec good() { return {.loss = scalar(), .train = sgd()}; }
  std::string error(const EstimatorSpec& spec, Mode mode) {
    return error_of([&] { validate(spec, mode); });
  }
  Graph graph_;
};

TEST_F(Spec, WhatEachModeNeedsSuffices) {
  EXPECT_EQ(error(good(), Mode::train), "no error");
  EXPECT_EQ(error({.loss = scalar()}, Mode::evaluate), "no error");
  EXPECT_EQ(error({.predictions = {{"y", vector()}}}, Mode::predict), "no error");
  EXPECT_EQ(error({.loss = reshape(scalar(), {1})}, Mode::evaluate), "no error");
  EXPECT_EQ(error({.loss = scalar(DType::f64)}, Mode::evaluate), "no error");
}

TEST_F(Spec, TrainAndEvaluateNeedALoss) {
  EXPECT_EQ(error({.train = sgd()}, Mode::train),
            "model_fn: no loss in train mode; set EstimatorSpec::loss");
  EXPECT_EQ(error({}, Mode::evaluate),
            "model_fn: no loss in evaluate mode; set EstimatorSpec::loss");
}

TEST_F(Spec, TheLossIsAFloatingScalar) {
  EXPECT_EQ(error({.loss = vector(), .train = sgd()}, Mode::train),
            "model_fn: the loss must be a floating scalar, got f32[2]; reduce it, for example with "
            "mean()");
  EXPECT_EQ(error({.loss = scalar(DType::i64)}, Mode::evaluate),
            "model_fn: the loss must be a floating scalar, got i64[]; reduce it, for example with "
            "mean()");
  EXPECT_EQ(error({.loss = reshape(scalar(), {1, 1})}, Mode::evaluate),
            "model_fn: the loss must be a floating scalar, got f32[1, 1]; reduce it, for example "
            "with mean()");
}

TEST_F(Spec, TrainNeedsAnUpdate) {
  EXPECT_EQ(error({.loss = scalar()}, Mode::train),
            "model_fn: no update in train mode; set EstimatorSpec::train, for example to adam()");
}

TEST_F(Spec, ValuesAreFloatingScalarsWithNames) {
  EstimatorSpec spec = good();
  spec.values = {{"norm", vector()}};
  EXPECT_EQ(error(spec, Mode::train), "model_fn: value `norm` must be a floating scalar");
  spec.values = {{"norm", Tensor()}};
  EXPECT_EQ(error(spec, Mode::train), "model_fn: value `norm` must be a floating scalar");
  spec.values = {{"", scalar()}};
  EXPECT_EQ(error(spec, Mode::train), "model_fn: a name in values is empty");
  spec.values = {{"a", scalar()}, {"a", scalar()}};
  EXPECT_EQ(error(spec, Mode::train), "model_fn: the name `a` is twice in values");
}

TEST_F(Spec, SummariesAreWhatTheyAreShownAs) {
  auto of = [&](Summary summary) {
    EstimatorSpec spec = good();
    spec.summaries = {scalar_summary("a", scalar()), std::move(summary)};
    return error(spec, Mode::train);
  };
  auto zeros = [&](Shape shape, DType dtype) {
    return constant(graph_, Array::zeros(shape, dtype));
  };
  EXPECT_EQ(of(scalar_summary("", scalar())), "model_fn: a name in summaries is empty");
  EXPECT_EQ(of(histogram_summary("a", scalar())), "model_fn: the name `a` is twice in summaries");
  EXPECT_EQ(of(text_summary("b", {})), "model_fn: summary `b` is undefined");
  EXPECT_EQ(of(scalar_summary("b", vector())),
            "model_fn: summary `b` must be a floating scalar, got f32[2]");
  EXPECT_EQ(of(scalar_summary("b", scalar(DType::i64))),
            "model_fn: summary `b` must be a floating scalar, got i64[]");
  EXPECT_EQ(of(scalar_summary("b", reshape(scalar(), {1}))), "no error");
  EXPECT_EQ(of(histogram_summary("b", zeros({2, 3}, DType::i32))), "no error");
  for (std::int64_t channels : {1, 3, 4})
    for (DType dtype : {DType::u8, DType::f32})
      EXPECT_EQ(of(image_summary("b", zeros({2, 5, 6, channels}, dtype))), "no error");
  EXPECT_EQ(of(image_summary("b", zeros({2, 5, 6, 2}, DType::u8))),
            "model_fn: summary `b` must be an image [n, h, w, 1 | 3 | 4], floating or u8, got "
            "u8[2, 5, 6, 2]");
  EXPECT_NE(of(image_summary("b", zeros({5, 6, 3}, DType::u8))), "no error");
  EXPECT_NE(of(image_summary("b", zeros({2, 5, 6, 3}, DType::i32))), "no error");
  EXPECT_EQ(of(image_summary("b", zeros({2, 5, 6, 3}, DType::u8), 0)),
            "model_fn: summary `b` shows 0 images; it must be at least 1");
  EXPECT_EQ(of(text_summary("b", zeros({2, 3}, DType::u8))), "no error");
  EXPECT_EQ(of(text_summary("b", vector())),
            "model_fn: summary `b` must be text, u8 [bytes] or [n, bytes], got f32[2]");
}

TEST_F(Spec, HooksAreNotNull) {
  EstimatorSpec spec = good();
  spec.hooks = {nullptr};
  EXPECT_EQ(error(spec, Mode::train), "model_fn: a hook is null");
}

TEST_F(Spec, MetricsHaveNamesOfTheirOwn) {
  Metric metric = mean_metric(vector());
  for (const char* taken : {"loss", "global_step"})
    EXPECT_EQ(error({.loss = scalar(), .metrics = {{taken, metric}}}, Mode::evaluate),
              concat("model_fn: a metric may not be named `", taken,
                     "`: evaluate() reports that itself"));
  EXPECT_EQ(error({.loss = scalar(), .metrics = {{"m", Metric{}}}}, Mode::evaluate),
            "model_fn: metric `m` is undefined");
  EXPECT_EQ(error({.loss = scalar(), .metrics = {{"m", metric}, {"m", metric}}}, Mode::evaluate),
            "model_fn: the name `m` is twice in metrics");
}

TEST_F(Spec, PredictNeedsPredictions) {
  EXPECT_EQ(error(good(), Mode::predict),
            "model_fn: no predictions in predict mode; set EstimatorSpec::predictions");
  EXPECT_EQ(error({.predictions = {{"y", Tensor()}}}, Mode::predict),
            "model_fn: prediction `y` is undefined");
}

TEST(Batch, GivesTensorsByName) {
  Graph graph;
  Batch batch(graph, {{"id", {{}, DType::i64}}, {"x", {{3, 2}, DType::f32}}});
  EXPECT_EQ(batch["x"].type(), (TensorType{{3, 2}, DType::f32}));
  EXPECT_TRUE(batch.contains("id"));
  EXPECT_FALSE(batch.contains("y"));
  EXPECT_THAT(batch.names(), ElementsAre("id", "x"));
  EXPECT_EQ(batch.rows(), 3);  // scalars have no rows
  EXPECT_EQ(error_of([&] { batch["lable"]; }), "unknown feature `lable`; this batch has id, x");
}

TEST(Batch, MayHaveAnotherTensorAsAFeature) {
  Graph graph;
  const Batch batch(graph, {{"x", {{3, 2}, DType::u8}}, {"y", {{3}, DType::i64}}});
  Batch floats = batch.with("x", cast(batch["x"], DType::f32));
  EXPECT_EQ(floats["x"].type(), (TensorType{{3, 2}, DType::f32}));
  EXPECT_THAT(floats.names(), ElementsAre("x", "y"));
  EXPECT_EQ(batch["x"].dtype(), DType::u8);
  EXPECT_THAT(batch.with("z", batch["y"]).names(), ElementsAre("x", "y", "z"));
}

TEST(Model, SaysWhatItWasBuiltFor) {
  auto model_fn = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    return {.loss = mean(batch["lable"])};
  };
  Signature signature{{"x", {{3, 2}, DType::f32}}};
  EXPECT_EQ(error_of([&] { Model(model_fn, Mode::evaluate, signature, {}); }),
            "unknown feature `lable`; this batch has x (while building the evaluate model for x "
            "f32[3, 2])");
}

TEST(Model, OnlyTrainingAssignsVariables) {
  auto model_fn = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor y = batch_norm(s / "norm", batch["x"], {.training = true});
    return {.loss = mean(y)};
  };
  Signature signature{{"x", {{3, 2}, DType::f32}}};
  EXPECT_EQ(error_of([&] { Model(model_fn, Mode::evaluate, signature, {}); }),
            "model_fn: 2 variables are assigned in evaluate mode; only training may change them "
            "(while building the evaluate model for x f32[3, 2])");
}

TEST(Mode, HasNames) {
  EXPECT_EQ(to_string(Mode::train), "train");
  EXPECT_EQ(to_string(Mode::evaluate), "evaluate");
  EXPECT_EQ(to_string(Mode::predict), "predict");
}

// A dataset without batch(): shapes do not fit, and the reason is told.
TEST(ForgottenBatch, IsToldBesideTheShapes) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor logits = dense(s / "logits", batch["x"], {.units = 3});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  auto error = [&](const Features& element) {
    TemporaryFolder dir;
    Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
    return error_of([&] { estimator.train(over_and_over({element}), {.steps = 1}); });
  };
  std::string hint =
      "(`label` has no axis of rows; if these are single examples, put data::batch(n) behind the "
      "dataset)";
  Array x = Array::of({1.f, 2.f});
  EXPECT_THAT(error({{"x", x}, {"label", Array::scalar<std::int64_t>(1)}}), HasSubstr(hint));
  EXPECT_THAT(error({{"x", x}, {"label", Array::of<std::int64_t>({1, 2})}}),
              Not(HasSubstr("data::batch")));
}

}  // namespace
}  // namespace belfry
