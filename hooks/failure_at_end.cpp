#include "belfry/hooks/failure_at_end.h"

#include "belfry/framework/base/error.h"

namespace belfry::hooks {

void FailureAtEnd::take(HookContext& context, std::exception_ptr error) {
  if (error_) return;
  try {
    std::rethrow_exception(std::move(error));
  } catch (Error& named) {
    named.add_context(concat("after training step ", context.step()));
    error_ = std::current_exception();
  } catch (...) {
    error_ = std::current_exception();
  }
  context.request_stop(concat(owner_, " failed"));
}

std::exception_ptr FailureAtEnd::error_of_chief() const {
  return std::make_exception_ptr(Error(concat(owner_, ": the chief has failed")));
}

}  // namespace belfry::hooks
