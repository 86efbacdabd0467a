#pragma once
// The link between the evaluations of a training and its checkpoints. Internal to hooks/.

#include <memory>
#include <string>
#include <vector>

#include "belfry/hooks/workflow/evaluation_hook.h"

namespace belfry::hooks {

/// Keeps the best checkpoints of all specs when all have seen the step, and tells them of each
/// checkpoint that is written. Its hooks stand before and behind theirs. Used by the
/// training thread.
class BestSaves final : public CheckpointListener {
 public:
  explicit BestSaves(std::vector<std::shared_ptr<EvaluationHook>> hooks)
      : hooks_(std::move(hooks)) {}

  /// All have seen this step.
  void seen(std::int64_t step) { seen_step_ = step; }
  /// Between two steps.
  void before_step(HookContext& context) { keep(context); }
  /// After the end of all.
  void end(HookContext& context);

  void before_save(HookContext& context) override;
  void after_save(HookContext& context, const std::string& path) override;

 private:
  // Whether it has saved a checkpoint.
  bool keep(HookContext& context);
  std::int64_t judged() const;

  std::vector<std::shared_ptr<EvaluationHook>> hooks_;
  std::int64_t seen_step_ = -1;
  bool is_news_ = true;  // what is saved now, to those who evaluate checkpoints
  // On the chief: of a checkpoint, its step if all had seen that (else -1), and for how many
  // evaluations it knows what came of them.
  struct Save {
    std::int64_t step = -1, judged = 0;
    bool is_news = true;
  };
  Save begun_, saved_;
};

/// The hooks of the specs with those of `saves` around them.
Hooks with_best_saves(const std::vector<std::shared_ptr<EvaluationHook>>& hooks,
                      const std::shared_ptr<BestSaves>& saves);

}  // namespace belfry::hooks
