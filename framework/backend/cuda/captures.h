#pragma once
// Steps that are being captured, and what must wait for them. Internal to backend/cuda.

#include "belfry/framework/base/mutex.h"

namespace belfry::cuda {

/// Keeps captures and calls that wait for a whole GPU apart: such a call fails while a step is
/// captured on that GPU, in whatever thread, and spoils the capture (CUDA Programming Guide, "CUDA
/// Graphs", prohibited and unhandled operations). A capture takes milliseconds, so there is one of
/// these for all GPUs of the process. From any thread.
class Captures {
 public:
  /// Around each capture, in one thread.
  void begin();
  void end();

  /// Calls f() while no step is captured; none begins before it returns. In a thread that captures,
  /// which would wait for itself, it is called at once, and CUDA refuses what it does.
  template <class F>
  void apart(F&& f) {
    if (captures_here()) return f();
    MutexLock lock(mutex_);
    while (under_way_ > 0) ended_.wait(mutex_);
    f();
  }

 private:
  static bool captures_here();

  Mutex mutex_;
  Condition ended_;
  int under_way_ BELFRY_GUARDED_BY(mutex_) = 0;
};

Captures& captures();

}  // namespace belfry::cuda
