#pragma once
// The work that train_speed does: a model, and random batches for it.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::bench {

struct WorkOptions {
  /// `tables`, `dcgan64`, or a name that models::make() knows.
  std::string model = "lenet";
  std::string options = "{}";  ///< of a model of models::make(), as JSON
  /// The sizes of one example: "224,224,3"; empty: those that the model is usually trained with.
  std::string sizes = {};
  std::int64_t batch_size = 64;
  std::int64_t rows = 100'000;        ///< of each table
  std::string optimizer = "adagrad";  ///< of tables: adagrad, sgd, adam
};

struct Work {
  ModelFn model;
  std::vector<Features> batches;  ///< in turn, for ever
};

/// `tables` has 13 numbers and 26 tables of rows of 16 below a perceptron of 256 and 128. `dcgan64`
/// is DCGAN for 64 x 64 pixels, whose noise is a feature, so that other programs may train on the
/// same. Classifiers have labels below 10, sequences tokens below 1000, sound 80 bands and 26 kinds
/// of labels. Error: as models::make(); a size that is no number.
Work make_work(const WorkOptions& options);

}  // namespace belfry::bench
