// Who earns more than 50,000 dollars a year? A wide-and-deep model of the census data set "Adult",
// of which every fifth row is held out.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/program.h"

using namespace belfry;

// The fields of adult.csv, which has no header. Words are hashed into buckets.
constexpr std::int64_t buckets = 1000;

std::vector<data::CsvColumn> fields() {
  std::vector<data::CsvColumn> all;
  for (const char* name : {"age", "workclass", "weight", "education", "education_years",
                           "marital_status", "occupation", "relationship", "race", "sex",
                           "capital_gain", "capital_loss", "hours_per_week", "native_country"})
    all.push_back({.name = name, .buckets = buckets});
  for (std::size_t number : {0, 2, 4, 10, 11, 12})
    all[number] = {.name = all[number].name, .type = data::CsvType::f32};
  all.push_back({.name = "income", .vocabulary = {"<=50K", ">50K"}});
  return all;
}

models::WideDeepOptions income_model() {
  models::Columns deep;
  deep.numeric = {{.feature = "age", .mean = 39, .deviation = 14},
                  {.feature = "education_years", .mean = 10, .deviation = 2.6},
                  {.feature = "capital_gain", .mean = 1100, .deviation = 7400},
                  {.feature = "capital_loss", .mean = 90, .deviation = 400},
                  {.feature = "hours_per_week", .mean = 40, .deviation = 12}};
  for (const char* name :
       {"workclass", "education", "marital_status", "occupation", "relationship"})
    deep.categorical.push_back({.feature = name, .categories = buckets});
  models::Columns wide{.categorical = deep.categorical};
  wide.categorical.push_back(
      {.feature = "age", .boundaries = {18, 25, 30, 35, 40, 45, 50, 55, 60, 65}});
  wide.crossed = {{.features = {"education", "occupation"}, .buckets = 1000},
                  {.features = {"age", "education", "occupation"}, .buckets = 10'000}};
  return {.wide = wide, .deep = deep, .head = models::binary_head({.label = "income"})};
}

// Two of them would be the same people twice, in training and held out.
std::vector<std::string> table_in(const std::string& folder) {
  std::vector<std::string> found = data::list_files(folder + "/adult.csv*");
  require(found.size() == 1, "expected one of adult.csv and adult.csv.gz in --data_dir, found ",
          join(found, ", "));
  return found;
}

int main(int argc, char** argv) {
  examples::Options defaults{.about =
                                 "Who earns more than 50,000 dollars a year? A wide-and-deep model "
                                 "of the census table Adult.",
                             .data = "adult.csv or adult.csv.gz",
                             .needs_data = true,
                             .max_steps = 4000,
                             .batch_size = 100};
  defaults.run.threads = 1;  // more would only wait for each other in steps as small as these
  return examples::run(argc, argv, defaults, [](const auto& o) {
    Dataset rows = data::csv(table_in(o.data_dir), fields(),
                             {.csv = {.header = false, .skip_initial_space = true}});
    auto kept = [](const Features& row) { return std::fmod(row.at("row").item(), 5) != 0; };
    Dataset train = rows | data::enumerate("row") | data::filter(kept) | data::cache()
                    | data::shuffle(30'000, {.seed = o.run.seed}) | data::repeat()
                    | data::batch(o.batch_size) | data::prefetch();
    Dataset held_out = rows | data::shard(5, 0) | data::batch(500);
    Estimator estimator(
        {.model_fn = models::wide_deep(income_model()), .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, estimator, train, training);
    if (o.summary) return examples::print_summary(estimator, train);
    auto result = train_and_evaluate(estimator, {train, training},
                                     {{.input_fn = held_out, .every = Steps(1000)}});
    const EvalResult& found = result.evaluations.at("");
    examples::Results results;
    for (const char* name : {"accuracy", "accuracy_baseline", "auc", "precision", "recall", "loss"})
      results.emplace_back(name, found.at(name));
    results.emplace_back("global_step", static_cast<double>(result.train.global_step));
    return results;
  });
}
