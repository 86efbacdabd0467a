// The option sync_batch_norm of all models: several towers train as one.
#include <gmock/gmock.h>

#include "belfry/framework/ops/collective.h"
#include "belfry/models/gan/estimators.h"
#include "every_model.h"
#include "gan/gan_support.h"

namespace belfry::models {
namespace {

// With one more field in the options.
std::string with(const std::string& options, const std::string& field) {
  return "{" + field + (options == "{}" ? "" : ", ") + options.substr(options.find('{') + 1);
}

bool has_batch_norm(const Graph& graph) {
  return std::ranges::any_of(graph.variables(), [](const Node* node) {
    return node->as<VariableOptions>().name.ends_with("moving_mean");
  });
}

struct Counts {
  int norms = 0, reductions = 0;
};
// The counts of a training step of two towers, before gradients.
Counts counts_of(const SmallModel& model, const std::string& options) {
  Graph graph(2);
  Features features = model.training_batch(5);
  make(model.name, options)(Scope(graph), Batch(graph, signature_of(features)), Mode::train);
  Counts out;
  for (const auto& node : graph) {
    if (node->is(all_reduce_op)) ++out.reductions;
    if (node->is(assign_op)
        && node->input(0).node().as<VariableOptions>().name.ends_with("moving_mean"))
      ++out.norms;
  }
  return out;
}

// Each use of a batch norm sums a count, a mean and a variance over towers.
TEST(SyncBatchNorm, IsAnOptionOfEveryModelThatHasBatchNorm) {
  int models = 0;
  for (const SmallModel& model : every_model()) {
    Graph graph;
    Features features = model.batch(2);
    make(model.name, model.options)(Scope(graph), Batch(graph, signature_of(features)),
                                    Mode::predict);
    if (!has_batch_norm(graph)) continue;
    ++models;
    Counts on = counts_of(model, with(model.options, R"("sync_batch_norm": true)"));
    Counts off = counts_of(model, model.options);
    EXPECT_GT(on.norms, 0) << model.name;
    EXPECT_EQ(on.reductions, 3 * on.norms) << model.name;
    EXPECT_EQ(off.reductions, model.name == "wgan_gp" ? on.reductions : 0) << model.name;
  }
  EXPECT_EQ(models, 16);
}

// In f64, where rounding is not what tells towers apart: the statistics of few rows enlarge it.
TEST(SyncBatchNorm, SeveralTowersTrainAsOne) {
  for (SmallModel model : every_model()) {
    bool small = model.name == "resnest50" || model.name == "unet" || model.name == "unet3d"
                 || model.name == "unet_resnest" || model.name == "acoustic";
    if (!small) continue;
    ModelFn model_fn = make(model.name, with(model.options, R"("sync_batch_norm": true,
                               "optimizer": {"name": "sgd", "learning_rate": 0.01})"));
    Features batch = model.training_batch(5);
    for (const auto& [name, array] : model.training_batch(5))
      if (is_floating(array.dtype())) batch.set(name, array.cast(DType::f64));
    SCOPED_TRACE(model.name);
    gan::expect_towers_are_one(model_fn, one_batch(batch, true), 2, 1e-9);
  }
}

// Five steps of the critic and one of the generator a round.
TEST(SyncBatchNorm, WganGpTrainsOnSeveralTowersAsOnOne) {
  gan::GanOptions o = gan::wgan_gp({.size = 8, .filters = 3, .noise = 4});
  gan::expect_towers_are_one(gan::gan(o), random_images({5, 8, 8, 1}, 10), 2, 1e-6);
}

}  // namespace
}  // namespace belfry::models
