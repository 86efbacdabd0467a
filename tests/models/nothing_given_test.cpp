// Where the interface takes a function or a pointer, none is an Error or means what its comment
// says; it is never called.

#include <gmock/gmock.h>

#include "../framework/train/training_testing.h"
#include "belfry/data/data.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/hooks/hooks.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

// The Error of reading a dataset to its end.
std::string reading(const std::function<Dataset()>& make) {
  return error_of([&] {
    InputStreamPtr stream = make().open();
    for (Features batch; stream->next(batch);) continue;
  });
}

TEST(NothingGiven, ToPipelines) {
  Dataset three = data::range(3);
  auto through = [&](const std::function<data::Transform()>& make) {
    return reading([&] { return three | make(); });
  };
  std::function<Features(Features)> no_map;
  std::function<Features(Features, PhiloxStream&)> no_draw;
  std::function<bool(const Features&)> no_test;
  EXPECT_EQ(through([&] { return data::map(no_map); }), "map: the function is empty");
  EXPECT_EQ(through([&] { return data::map(no_draw); }), "map: the function is empty");
  EXPECT_EQ(through([&] { return data::map_and_batch(no_map, 2); }),
            "map_and_batch: the function is empty");
  EXPECT_EQ(through([&] { return data::map_and_batch(data::RowFunction(), {}, 2); }),
            "map_and_batch: the function is empty");
  EXPECT_EQ(through([&] { return data::filter(no_test); }), "filter: the function is empty");
  EXPECT_EQ(through([&] { return data::take_while(no_test); }),
            "take_while: the function is empty");
  EXPECT_EQ(through([&] { return data::flat_map(nullptr); }), "flat_map: the function is empty");
  EXPECT_EQ(through([&] { return data::interleave(nullptr); }),
            "interleave: the function is empty");
  EXPECT_EQ(through([&] {
              return data::bucket_by_length(std::function<std::int64_t(const Features&)>(),
                                            {.boundaries = {1}, .batch_sizes = {1, 1}});
            }),
            "bucket_by_length: the function is empty");
  EXPECT_EQ(through([&] { return data::wrap("mine", nullptr); }),
            "mine: the function that makes an iterator is empty");
  EXPECT_EQ(reading([&] { return three | data::Transform(); }),
            "range | a transform that is empty");
  EXPECT_EQ(reading([&] { return data::indexed(3, nullptr); }),
            "indexed: the function that reads an element is empty");
  EXPECT_EQ(reading([&] { return data::generator(std::function<std::optional<Features>()>()); }),
            "generator: the function is empty");
  EXPECT_EQ(through([&] { return data::scan({}, nullptr); }), "scan: the function is empty");
  EXPECT_EQ(through([&] { return data::group_by_window(nullptr, nullptr); }),
            "group_by_window: the function is empty");
  EXPECT_EQ(through([&] { return data::rejection_resample(nullptr, {1}); }),
            "rejection_resample: the function is empty");
  EXPECT_EQ(reading([&] { return data::choose_from({three}, data::Choose()); }),
            "choose_from: the function is empty");
  EXPECT_EQ(reading([&] { return Dataset("mine", data::MakeIterator()); }),
            "mine: the function that starts a pass is empty");
}

TEST(NothingGiven, ToAnEstimator) {
  TemporaryFolder dir;
  RunConfig run = quiet();
  Estimator none({.model_dir = dir.path(), .run = run});
  EXPECT_THAT(error_of([&] { none.train(once({one_point()})); }),
              HasSubstr("there is no model_fn"));
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = run});
  InputFn no_stream = [] { return InputStreamPtr(); };
  for (const InputFn& input :
       {InputFn(), InputFn(nullptr), InputFn(std::function<Dataset()>()), no_stream}) {
    EXPECT_THAT(error_of([&] { estimator.train(input); }), HasSubstr("train: "));
    EXPECT_THAT(error_of([&] { estimator.evaluate(input); }), HasSubstr("evaluate: "));
    EXPECT_THAT(error_of([&] { estimator.predict(input); }), HasSubstr("predict: "));
    EXPECT_THAT(error_of([&] { estimator.plan(input); }), ::testing::Not(HasSubstr("no error")));
    EXPECT_THAT(error_of([&] { estimator.explain(input); }), HasSubstr("explain: "));
    EXPECT_THAT(error_of([&] { estimator.summary(input); }), HasSubstr("summary: "));
  }
  EXPECT_EQ(error_of([&] { estimator.train(once({one_point()}), {.hooks = {nullptr}}); }),
            "train: a hook is null");
  EXPECT_EQ(error_of([&] { estimator.train(once({one_point()}), {.listeners = {nullptr}}); }),
            "train: a checkpoint listener is null");
  EXPECT_EQ(estimator.train(once({one_point()}), {.control = nullptr}).steps, 1);
  EXPECT_THAT(error_of([] { Replicated(Replicated::Forward{}); }),
              HasSubstr("no forward function"));
}

TEST(NothingGiven, ToOptimizers) {
  auto training_with = [](const Optimizer& optimizer) {
    return error_of([&] {
      ModelFn model = [&](Scope s, const Batch& batch, Mode mode) {
        EstimatorSpec spec = linear(std::move(s), batch, mode);
        spec.train = optimizer;
        return spec;
      };
      Estimator({.model_fn = model, .run = saving_nothing()}).train(once({one_point()}));
    });
  };
  EXPECT_THAT(training_with(sgd({.learning_rate = Schedule::Function()})),
              HasSubstr("schedule: the function is empty"));
  EXPECT_THAT(training_with({.name = "mine", .apply = {}, .learning_rate = 0.1}),
              HasSubstr("has no apply"));
  EXPECT_EQ(error_of([] { make_optimizer("mine", 0.1, {}, UpdateMaker()); }),
            "make_optimizer: the update of `mine` is empty; set a function");
}

TEST(NothingGiven, ToMetrics) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(std::move(s), batch, mode);
    for (auto& [name, metric] : spec.metrics) metric.value = nullptr;
    return spec;
  };
  Estimator estimator({.model_fn = model, .run = saving_nothing()});
  EXPECT_EQ(
      error_of([&] { estimator.evaluate(once({one_point()})); }),
      "model_fn: metric `error` is undefined (while building the evaluate model for x f32[1, 1], "
      "y f32[1, 1])");
}

TEST(NothingGiven, ToHooks) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(error_of([&] { hooks::validate(estimator, {}); }), "validate: there is no input_fn");
  EXPECT_EQ(error_of([&] { hooks::samples(estimator, {}, {.receive = [](auto, auto&) {}}); }),
            "samples: there is no input_fn");
  EXPECT_THAT(error_of([&] { hooks::samples(estimator, once({one_point()}), {}); }),
              HasSubstr("samples: set SamplesOptions::receive"));
  EXPECT_EQ(error_of([] { hooks::edit_gradients(nullptr); }),
            "edit_gradients: the function is empty");
  TrainSpec train{once({one_point()}), {}};
  EXPECT_EQ(error_of([&] { train_and_evaluate(estimator, train, {{.name = "t"}}); }),
            "evaluation `t`: there is no input_fn");
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(
                    estimator, train,
                    {{.name = "t", .input_fn = once({one_point()}), .exporters = {nullptr}}});
              }),
              HasSubstr("an exporter of evaluation `t` is null"));
  // Clocks and writers fall back to the system's.
  Hooks all{hooks::progress({.terminal = {.columns = 0}, .clock = {}}),
            hooks::log_input({.clock = {}}), hooks::log_values({.format = {}, .clock = {}}),
            hooks::report({.clock = {}, .wall_time = {}}), hooks::summaries({.clock = {}})};
  EXPECT_EQ(error_of([&] { estimator.train(once({one_point()}), {.hooks = all}); }), "no error");
}

TEST(NothingGiven, ToEvaluations) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  estimator.train(once({one_point()}));
  const std::string told = "evaluate: there is no input_fn";
  EXPECT_EQ(error_of([&] { estimator.evaluate({}); }), told);
  EXPECT_EQ(error_of([&] { estimator.check_evaluation({}); }), told);
  EXPECT_EQ(error_of([&] { evaluate_and_write(estimator, {}); }), told);
  EXPECT_EQ(error_of([&] { evaluate_continuously(estimator, {}, {.max_steps = 1}); }), told);
  // Neither asked whether nor told.
  EvalSpec silent{.input_fn = once({one_point()}), .wanted = {}, .receive = {}};
  EXPECT_TRUE(evaluate_continuously(estimator, silent, {.max_steps = 1}).has_value());
}

TEST(NothingGiven, ToTheLog) {
  CapturedLog log;
  LogSink captured = set_log_sink({});
  EXPECT_FALSE(set_log_sink(captured));  // the default's, which writes
  log_info("heard");
  EXPECT_EQ(log.info, "heard\n");
}

TEST(NothingGiven, ToModels) {
  EXPECT_THAT(error_of([] { models::Frozen(models::FrozenOptions{}); }),
              HasSubstr("frozen: there is no model_fn"));
  EXPECT_THAT(error_of([] { gan::gan({}); }), HasSubstr("gan: "));
  gan::GanOptions o = gan::dcgan();
  o.loss.generator = {};
  EXPECT_THAT(error_of([&] { gan::gan(o); }), HasSubstr("gan: "));
  o.loss = {.generator = gan::hinge().generator, .discriminator = {}};
  EXPECT_THAT(error_of([&] { gan::gan(o); }), HasSubstr("gan: "));
  Graph graph;
  Array two = Array::of<float>({1, 2}, {2, 1});
  Tensor x = input(graph, "x", {{3, 1}, DType::f32});
  EXPECT_EQ(error_of([&] { gan::with_reference_batch(two, x, nullptr); }),
            "with_reference_batch: the network is empty; set a function");
  EXPECT_THAT(error_of([] { models::multi_head({{.name = "a"}}); }),
              HasSubstr("multi_head: `a` is no head; make it with binary_head()"));
  EXPECT_THAT(error_of([] { models::linear({.head = {}}); }), HasSubstr("linear: "));
}

}  // namespace
}  // namespace belfry
