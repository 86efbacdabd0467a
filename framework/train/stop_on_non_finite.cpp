#include <cmath>

#include "belfry/framework/base/error.h"
#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

void check(std::string_view name, double value, std::int64_t step) {
  require(std::isfinite(value), name, " is ", std::isnan(value) ? "NaN" : "infinite",
          " after step ", step,
          "; a smaller learning rate or gradient clipping may help; RunConfig::check_numerics "
          "names the first op that produced it");
}

class StopOnNonFinite final : public Hook {
 public:
  void after_step(const StepResult& result) override {
    if (result.applied == 0) return;
    check("the loss", result.loss, result.step);
    for (const auto& [name, value] : result.values) check(name, value, result.step);
  }
};

}  // namespace

std::shared_ptr<Hook> stop_on_non_finite() { return std::make_shared<StopOnNonFinite>(); }

}  // namespace belfry
