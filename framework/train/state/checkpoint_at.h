#pragma once
// The checkpoint that a user's path stands for. Internal to the framework and models/.

#include <string>

#include "belfry/framework/train/checkpoint.h"

namespace belfry {

/// The checkpoint of a file, or of a model_dir: the newest one there that can be read. Error:
/// nothing is there; what load_checkpoint() and load_latest_checkpoint() throw.
Checkpoint checkpoint_at(const std::string& place);

/// The same of any safetensors file, also one that is no checkpoint: its tensors.
NamedArrays weights_at(const std::string& place);

/// The name of the checkpoint in errors: the file's path, or "the newest checkpoint in runs/mnist".
std::string describe_checkpoint_at(const std::string& place);

}  // namespace belfry
