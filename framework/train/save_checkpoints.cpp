#include <filesystem>

#include "belfry/framework/train/built_in_hooks.h"
#include "belfry/framework/train/checkpoint.h"

namespace belfry {
namespace {

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

std::shared_ptr<Hook> save_checkpoints(Every every) {
  return std::make_shared<SaveCheckpoints>(every);
}

}  // namespace belfry
