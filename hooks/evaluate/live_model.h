#pragma once
// Common parts of the hooks that run the model on the live variables while it trains. Internal to
// hooks/.

#include <exception>
#include <string>
#include <utility>

#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Error, beginning with `owner`: the variables of `estimator`, which trains, have no moving
/// averages.
void check_averages(const std::string& owner, Estimator& estimator);

/// Error, beginning with `owner`: the training of `context` is another estimator's, in another
/// model_dir, so that `estimator` would be asked about what it has not learnt.
void require_training(const Estimator& estimator, const HookContext& context,
                      const std::string& owner);

/// Keeps a failure of a hook between two steps that has changed nothing of the training: training
/// stops and saves, and fails at the hook's end, where rethrow() is called, also where training has
/// failed since: the list of hooks tells the first failure and logs the others.
class FailureAtEnd {
 public:
  /// Reasons to stop begin with `owner`.
  explicit FailureAtEnd(std::string owner) : owner_(std::move(owner)) {}

  /// A training begins.
  void forget() { error_ = nullptr; }
  bool has_come() const { return error_ != nullptr; }
  /// Keeps the first error, and asks training to stop.
  void record(HookContext& context, std::exception_ptr error);
  /// Calls body() on the chief; what it throws is taken on all workers, which all call this. False:
  /// it threw.
  template <class Body>
  bool on_chief(HookContext& context, Body body) {
    std::exception_ptr error;
    try {
      if (context.is_chief()) body();
    } catch (...) {
      error = std::current_exception();
    }
    if (!context.chief_decides(error != nullptr)) return true;
    record(context, error ? error : error_of_chief());
    return false;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_of_chief() const;

  std::string owner_;
  std::exception_ptr error_;
};

}  // namespace belfry::hooks
