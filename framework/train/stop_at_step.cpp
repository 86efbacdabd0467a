#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

class StopAtStep final : public Hook {
 public:
  explicit StopAtStep(std::int64_t last_step) : last_step_(last_step) {}
  bool needs_result_now(HookContext&, std::int64_t step) override { return step >= last_step_; }
  void after_step(const StepResult& result) override {
    if (result.step >= last_step_) result.request_stop("");
  }

 private:
  std::int64_t last_step_;
};

}  // namespace

std::shared_ptr<Hook> stop_at_step(std::int64_t last_step) {
  return std::make_shared<StopAtStep>(last_step);
}

}  // namespace belfry
