#pragma once
// The kinds of scenarios: files and pipelines that are read, trainings, and work with a model that
// is trained.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/dataset.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/estimator.h"
#include "scenarios.h"

namespace belfry {

using Scenarios = std::map<std::string, std::function<std::unique_ptr<Scenario>()>>;

void add_formats(Scenarios& all);    ///< each format of files
void add_pipelines(Scenarios& all);  ///< transforms and augmentations, with 1 and 4 workers
void add_trainings(Scenarios& all);  ///< ways to train, and each hook
void add_uses(Scenarios& all);       ///< plans, evaluation, prediction, exports, loads

/// Names, types and checksums, which are equal where the features are.
std::string digest(const Features& features);

std::string all_of(const Dataset& dataset);  ///< digests of its elements

Features some_arrays();  ///< numbers f32 [3, 5], words u8 [7]
Array some_image();      ///< u8 [9, 7, 3]
Features a_batch();      ///< two rows for the models of these scenarios

/// Trains resuming_model, and predicts by a smaller one, which runtimes of ONNX know too.
EstimatorSpec with_predictions(Scope s, const Batch& batch, Mode mode);

/// Options for an export of with_predictions(), with ONNX.
ExportOptions exports();

/// Saves each step, in the foreground, and keeps two checkpoints; one thread.
RunConfig saving_each_step();

/// Reads or computes something, and always finds the same.
class Finds final : public Scenario {
 public:
  using Read = std::function<std::string(const TemporaryFolder&)>;
  Finds(const std::function<void(const TemporaryFolder&)>& write, Read read);
  void run() override;
  void check(const std::string& where) override;

 private:
  TemporaryFolder folder_;
  Read read_;
  std::string found_, expected_;
};

struct TrainingOptions {
  using Train = std::function<void(Estimator&, const TemporaryFolder&)>;

  RunConfig run = saving_each_step();
  Train train = {};  ///< to the third step; empty: without hooks
};

/// Three steps from nothing. After a failure the same Estimator goes on to the third, and its
/// checkpoint can be read. It may lack a batch: the one whose reading has failed.
class Trains final : public Scenario {
 public:
  explicit Trains(TrainingOptions options) : options_(std::move(options)) {}
  void prepare() override;
  void run() override;
  void check(const std::string& where) override;

 private:
  TrainingOptions options_;
  TemporaryFolder folder_;
  std::unique_ptr<Estimator> estimator_;
};

/// Work with a trained Estimator that finds the same each time and leaves its checkpoint alone.
class Uses final : public Scenario {
 public:
  using Use = std::function<std::string(Estimator&, const TemporaryFolder&)>;
  explicit Uses(Use use);
  void run() override;
  void check(const std::string& where) override;

 private:
  TemporaryFolder folder_;
  Use use_;
  Estimator estimator_;
  std::string found_, expected_, checkpoint_;
};

}  // namespace belfry
