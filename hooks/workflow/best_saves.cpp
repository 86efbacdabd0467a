#include "belfry/hooks/workflow/best_saves.h"

#include <algorithm>
#include <utility>

#include "belfry/framework/train/checkpoint.h"

namespace belfry::hooks {
namespace {

// Hooks end in reversed order.
struct First final : Hook {
  explicit First(std::shared_ptr<BestSaves> s) : saves(std::move(s)) {}
  void end(HookContext& context, Outcome outcome) override {
    if (outcome != Outcome::failed) saves->end(context);
  }
  std::shared_ptr<BestSaves> saves;
};

struct Last final : Hook {
  explicit Last(std::shared_ptr<BestSaves> s) : saves(std::move(s)) {}
  void before_step(StepRequest& request) override { saves->before_step(request.context); }
  void after_step(const StepResult& result) override { saves->seen(result.step); }
  std::shared_ptr<BestSaves> saves;
};

}  // namespace

std::int64_t BestSaves::judged() const {
  std::int64_t count = 0;
  for (const auto& hook : hooks_) count += hook->judged();
  return count;
}

// A checkpoint of this very state, as the saver has written one at the last step, is not written
// again.
bool BestSaves::keep(HookContext& context) {
  if (std::ranges::none_of(hooks_, [](const auto& hook) { return hook->may_be_best(); }))
    return false;
  bool is_saved = context.chief_decides(saved_.step == context.step() && saved_.judged == judged());
  std::string path = checkpoint_path(context.model_dir(), context.step()), saved;
  if (is_saved) saved = path;
  is_news_ = false;
  for (const auto& hook : hooks_)
    if (hook->keep_best(context, saved)) saved = path;
  is_news_ = true;
  return !is_saved && !saved.empty();
}

// The saver, which has ended already, knew nothing of the evaluations at the end.
void BestSaves::end(HookContext& context) {
  if (keep(context) || !context.config().save_checkpoint
      || !context.chief_decides(saved_.judged != judged()))
    return;
  is_news_ = false;
  context.save_checkpoint();
  is_news_ = true;
}

void BestSaves::before_save(HookContext& context) {
  begun_ = {.step = seen_step_ == context.step() ? seen_step_ : -1,
            .judged = judged(),
            .is_news = is_news_};
}

void BestSaves::after_save(HookContext& context, const std::string& path) {
  saved_ = std::exchange(begun_, {});
  for (const auto& hook : hooks_) hook->checkpoint_written(context, path, saved_.is_news);
}

Hooks with_best_saves(const std::vector<std::shared_ptr<EvaluationHook>>& hooks,
                      const std::shared_ptr<BestSaves>& saves) {
  Hooks all{std::make_shared<First>(saves)};
  all.insert(all.end(), hooks.begin(), hooks.end());
  all.push_back(std::make_shared<Last>(saves));
  return all;
}

}  // namespace belfry::hooks
