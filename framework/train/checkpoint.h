#pragma once
// Checkpoints: one safetensors file each, <model_dir>/checkpoint-<step>.safetensors.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/tensor/safetensors.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

/// Everything that training needs to go on as if it had never stopped.
struct Checkpoint {
  NamedArrays variables = {};  ///< parameters, statistics and slots by name
  std::int64_t step = 0;       ///< finished steps
  std::uint64_t seed = 0;      ///< RunConfig::seed with which the training began
  std::string input = {};      ///< position of the input stream; empty: begin anew
  std::map<std::string, std::string> hooks = {};  ///< state by hook name
  /// How it was trained: to_json() of the RunConfig. Empty: unknown, as in older files.
  std::string config = {};
  /// The version of Belfry that wrote it; empty in older files. Writing puts in the present one.
  std::string version = {};
};

/// A checkpoint's place in a model_dir.
struct CheckpointFile {
  std::int64_t step = 0;  ///< finished steps, by the file's name
  std::string path;       ///< path of the file
};

/// MODEL_DIR/checkpoint-STEP.safetensors, whether it is there or not.
std::string checkpoint_path(const std::string& model_dir, std::int64_t step);
/// All checkpoints of a folder, oldest first, by name alone; none when there is no such folder.
/// Error: it cannot be listed.
std::vector<CheckpointFile> list_checkpoints(const std::string& model_dir);

/// The folder in `model_dir` of the checkpoints that stay for good.
std::string kept_folder(const std::string& model_dir);

/// Writes atomically and durably; then removes the older ones that are not to be kept. What stays
/// though it is not among the newest moves to kept_folder(). Returns its path. Error: it cannot be
/// written, or a rule is out of its range; the older ones are then as they were.
std::string save_checkpoint(const std::string& model_dir, const Checkpoint& checkpoint,
                            const KeepRules& keep);

/// The same to any path, with nothing removed.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Error: the file is missing, damaged, or no checkpoint; it is named, with what is wrong.
Checkpoint load_checkpoint(const std::string& path);

/// The newest checkpoint of a folder that can be read, warning of each newer one that cannot;
/// nothing when the folder has none. Error: it has some and none can be read.
std::optional<Checkpoint> load_latest_checkpoint(const std::string& model_dir);

}  // namespace belfry
