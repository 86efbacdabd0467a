#include <cmath>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

class StopOnNonFinite final : public Hook {
 public:
  explicit StopOnNonFinite(bool fails) : fails_(fails) {}

  void after_step(const StepResult& result) override {
    if (result.applied.empty()) return;
    std::string fault = check("the loss", result.loss, result.step);
    for (const auto& [name, value] : result.values)
      if (fault.empty()) fault = check(name, value, result.step);
    require(fault.empty() || !fails_, fault);
    bool is_new = !fault.empty() && !std::exchange(warned_, true);
    if (is_new && result.context.is_chief()) log_warning(fault);
    if (fault.empty()) warned_ = false;
  }

 private:
  static std::string check(std::string_view name, double value, std::int64_t step) {
    if (std::isfinite(value)) return {};
    return concat(name, " is ", std::isnan(value) ? "NaN" : "infinite", " after step ", step,
                  "; a smaller learning rate or gradient clipping may help; "
                  "RunConfig::check_numerics names the first op that produced it");
  }

  bool fails_, warned_ = false;
};

}  // namespace

std::shared_ptr<Hook> stop_on_non_finite(bool fails) {
  return std::make_shared<StopOnNonFinite>(fails);
}

}  // namespace belfry
