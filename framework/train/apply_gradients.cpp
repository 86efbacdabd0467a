#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

class ApplyGradients final : public Hook {
 public:
  void on_gradients(GradientStage& stage) override {
    apply_gradients(stage.update, stage.gradients, stage.condition);
  }
};

}  // namespace

std::shared_ptr<Hook> apply_gradients() { return std::make_shared<ApplyGradients>(); }

}  // namespace belfry
