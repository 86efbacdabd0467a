#include "belfry/framework/train/built_in_hooks.h"

#include <cmath>
#include <filesystem>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/checkpoint.h"

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

class SaveCheckpoints final : public Hook {
 public:
  explicit SaveCheckpoints(Every every) : cadence_(every) {}

  void begin(HookContext& context) override {
    saved_step_ = context.step();
    std::error_code unreadable;
    std::string path = checkpoint_path(context.model_dir(), context.step());
    if (context.chief_decides(!std::filesystem::exists(path, unreadable)))
      context.save_checkpoint();
    cadence_.triggered(context.step(), context.clock());
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    now_ = context.clock();
    return due_ = cadence_.due(step, now_);
  }

  void after_step(const StepResult& result) override {
    if (!due_) return;
    result.context.begin_checkpoint();
    saved_step_ = result.step;
    cadence_.triggered(result.step, now_);
  }

  void end(HookContext& context, Outcome outcome) override {
    if (outcome == Outcome::failed) return;
    if (context.step() != saved_step_ || context.data_ended()) save(context);
  }

 private:
  void save(HookContext& context) {
    context.save_checkpoint();
    saved_step_ = context.step();
  }

  Cadence cadence_;
  std::int64_t saved_step_ = -1;
  bool due_ = false;
  double now_ = 0;  // when it was last asked
};

}  // namespace

std::shared_ptr<Hook> stop_at_step(std::int64_t last_step) {
  return std::make_shared<StopAtStep>(last_step);
}

std::shared_ptr<Hook> stop_on_non_finite(bool fails) {
  return std::make_shared<StopOnNonFinite>(fails);
}

std::shared_ptr<Hook> save_checkpoints(Every every) {
  return std::make_shared<SaveCheckpoints>(every);
}

}  // namespace belfry
