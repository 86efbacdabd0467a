#include "belfry/hooks/skip_non_finite.h"

#include <map>
#include <string>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/optimizers/gradient_edits.h"

namespace belfry::hooks {
namespace {

class SkipNonFinite final : public Hook {
 public:
  explicit SkipNonFinite(const SkipNonFiniteOptions& options) : options_(options) {}

  void on_gradients(GradientStage& stage) override {
    updates_[stage.index].title = stage.update.title();
    if (stage.gradients.empty()) return;
    Tensor finite = all_finite(stage.gradients);
    stage.condition = stage.condition.defined() ? logical_and(stage.condition, finite) : finite;
  }
  void begin(HookContext&) override {
    for (auto& [index, update] : updates_) update.skipped = update.consecutive = 0;
  }
  void after_step(const StepResult& result) override {
    for (auto& [index, update] : updates_)
      if (result.chosen.contains(index)) count(update, result.applied.contains(index), result);
  }

 private:
  struct Counted {
    std::string title;
    std::int64_t skipped = 0, consecutive = 0;  // steps
  };

  void count(Counted& update, bool applied, const StepResult& result) const {
    if (applied) {
      update.consecutive = 0;
      return;
    }
    ++update.skipped, ++update.consecutive;
    require(update.consecutive <= options_.max_consecutive, "skip_non_finite: the update `",
            update.title, "` was skipped in ", update.consecutive, " steps in a row, up to step ",
            result.step,
            ", because gradients were not finite; a smaller learning rate or loss scale may help, "
            "and RunConfig::check_numerics names the first op that produced NaN or infinity");
    if (result.context.is_chief())
      log_warning("step ", result.step, ": skipped the update `", update.title,
                  "`, gradients are not finite (", update.skipped, " skipped so far)");
  }

  SkipNonFiniteOptions options_;
  std::map<std::size_t, Counted> updates_;  // by GradientStage::index
};

}  // namespace

std::shared_ptr<Hook> skip_non_finite(SkipNonFiniteOptions options) {
  require(options.max_consecutive >= 1, "skip_non_finite: max_consecutive is ",
          options.max_consecutive, "; it must be at least 1");
  return std::make_shared<SkipNonFinite>(options);
}

}  // namespace belfry::hooks
