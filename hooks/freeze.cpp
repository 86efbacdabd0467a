#include "belfry/framework/base/error.h"
#include "belfry/hooks/gradient_edits.h"
#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

class Freeze final : public NamingHook {
 public:
  explicit Freeze(const std::vector<std::string>& patterns) : NamingHook({"freeze", patterns}) {
    require(!patterns.empty(), "freeze: no pattern is given");
  }

  void on_tower_gradients(GradientStage& stage) override {
    std::erase_if(stage.gradients, [&](const VariableGradient& entry) {
      return patterns_.find(entry.variable.name()).has_value();
    });
    require(!stage.gradients.empty(), "freeze: nothing is left to train in the update `",
            stage.update.title(), "`");
  }
};

}  // namespace

std::shared_ptr<Hook> freeze(std::vector<std::string> patterns) {
  return std::make_shared<Freeze>(patterns);
}

}  // namespace belfry::hooks
