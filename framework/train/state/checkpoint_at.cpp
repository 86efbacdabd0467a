#include "belfry/framework/train/state/checkpoint_at.h"

#include <filesystem>

#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

// Nothing for what should be a file.
std::optional<Checkpoint> newest_of_folder(const std::string& path) {
  std::optional<Checkpoint> newest;
  const bool folder = is_folder(path);
  if (folder) newest = load_latest_checkpoint(path);
  std::error_code error;
  bool found = folder ? newest.has_value() : fs::exists(path, error) || error;
  require(found, "there is no checkpoint at `", path,
          "`; give the path of one, or a model_dir that has some");
  return newest;
}

}  // namespace

Checkpoint checkpoint_at(const std::string& path) {
  auto newest = newest_of_folder(path);
  return newest ? std::move(*newest) : load_checkpoint(path);
}

NamedArrays weights_at(const std::string& path) {
  auto newest = newest_of_folder(path);
  return newest ? std::move(newest->variables) : load_safetensors(path).tensors;
}

std::string describe_checkpoint_at(const std::string& path) {
  return is_folder(path) ? "the newest checkpoint in " + path : path;
}

std::unique_ptr<LockFile> lock_model_dir(const std::string& model_dir) {
  return std::make_unique<LockFile>(concat(model_dir, "/training.lock"),
                                    concat("model_dir: somebody else trains in `", model_dir, "`"),
                                    "wait for its end, stop it, or use another model_dir");
}

}  // namespace belfry
