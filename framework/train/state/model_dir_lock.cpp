#include "belfry/framework/train/state/model_dir_lock.h"

#include "belfry/framework/base/text.h"

namespace belfry {

std::unique_ptr<LockFile> lock_model_dir(const std::string& model_dir) {
  return std::make_unique<LockFile>(concat(model_dir, "/training.lock"),
                                    concat("model_dir: somebody else trains in `", model_dir, "`"),
                                    "wait for its end, stop it, or use another model_dir");
}

}  // namespace belfry
