#pragma once
// The checkpoint that a user's path stands for. Internal to the framework and models/.

#include <memory>
#include <string>

#include "belfry/framework/base/lock_file.h"
#include "belfry/framework/train/checkpoint.h"

namespace belfry {

/// The checkpoint of a file, or of a model_dir: the newest one there that can be read. Error:
/// nothing is there; what load_checkpoint() and load_latest_checkpoint() throw.
Checkpoint checkpoint_at(const std::string& path);

/// The same of any safetensors file, also one that is no checkpoint: its tensors.
NamedArrays weights_at(const std::string& path);

/// The name of the checkpoint in errors: the file's path, or "the newest checkpoint in runs/mnist".
std::string describe_checkpoint_at(const std::string& path);

/// Held while somebody trains in `model_dir`, or keeps or exports what is there. The folder exists.
/// Error: somebody has it, with host, process and time.
std::unique_ptr<LockFile> lock_model_dir(const std::string& model_dir);

}  // namespace belfry
