#include "belfry/hooks/evaluate/live_model.h"

#include <algorithm>

#include "belfry/framework/base/error.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry::hooks {

void check_averages(const std::string& owner, Estimator& estimator) {
  std::vector<std::string> names = estimator.variable_names();
  auto is_average = [](const std::string& name) { return name.ends_with(moving_average_suffix); };
  require(std::ranges::any_of(names, is_average), owner,
          ": averaged is set, but no variable has a moving average; add hooks::moving_average() to "
          "TrainOptions::hooks");
}

void require_training(const Estimator& estimator, const HookContext& context,
                      const std::string& owner) {
  require(estimator.model_dir() == context.model_dir(), owner,
          ": it was given the estimator of model_dir ", estimator.model_dir(),
          ", but the one that trains has ", context.model_dir(), "; give it that one");
}

void FailureAtEnd::record(HookContext& context, std::exception_ptr error) {
  if (error_) return;
  try {
    std::rethrow_exception(std::move(error));
  } catch (Error& named) {
    error_ = std::current_exception();
    named.add_context(concat("after training step ", context.step()));
  } catch (...) {
    error_ = std::current_exception();
  }
  context.request_stop(concat(owner_, " failed"));
}

std::exception_ptr FailureAtEnd::error_of_chief() const {
  return std::make_exception_ptr(Error(concat(owner_, ": the chief has failed")));
}

}  // namespace belfry::hooks
