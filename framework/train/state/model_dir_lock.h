#pragma once
// Who writes a model_dir.

#include <memory>
#include <string>

#include "belfry/framework/base/lock_file.h"

namespace belfry {

/// Held while somebody trains in `model_dir`, or keeps or exports what is there. The folder exists.
/// Error: somebody has it, with host, process and time.
std::unique_ptr<LockFile> lock_model_dir(const std::string& model_dir);

}  // namespace belfry
