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

void add_formats(Scenarios& all);        ///< each format of files
void add_pipelines(Scenarios& all);      ///< transforms, with 1 and 4 workers
void add_augmentations(Scenarios& all);  ///< each augmentation
void add_trainings(Scenarios& all);      ///< ways to train, and each hook
void add_uses(Scenarios& all);           ///< plans, evaluation, prediction, exports, loads

/// Names, types and checksums, which are equal where the features are.
std::string digest(const Features& features);
std::string digest_of(const NamedArrays& arrays);

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

/// Reads or computes something, and always finds the same, and in its folder the same files.
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
  std::set<std::string> files_;
};

struct TrainingOptions {
  using Train = std::function<void(Estimator&, const TemporaryFolder&, TrainOptions)>;

  RunConfig run = saving_each_step();
  Train train = {};  ///< with the options given; empty: without hooks
};

/// Three steps from nothing, which end in the same bits each time. After a failure the checkpoints
/// that were saved are there and whole; then the same Estimator goes on to the third step. It may
/// lack a batch: the one whose reading has failed.
class Trains final : public Scenario {
 public:
  explicit Trains(TrainingOptions options);
  void prepare() override;
  void run() override;
  void recover(const std::string& where) override;
  void check(const std::string& where) override;

 private:
  class Saved;
  void train(const RunConfig& config);

  TrainingOptions options_;
  TemporaryFolder folder_;
  std::shared_ptr<Saved> saved_;
  std::unique_ptr<Estimator> estimator_;
  std::map<std::int64_t, std::string> expected_;  // digests of checkpoints by their steps
  bool recovered_ = false;
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
