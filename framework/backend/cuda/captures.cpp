#include "belfry/framework/backend/cuda/captures.h"

namespace belfry::cuda {
namespace {

thread_local int captures_of_thread = 0;

}  // namespace

bool Captures::captures_here() { return captures_of_thread > 0; }

void Captures::begin() {
  MutexLock lock(mutex_);
  ++under_way_;
  ++captures_of_thread;
}

void Captures::end() {
  MutexLock lock(mutex_);
  --under_way_;
  --captures_of_thread;
  ended_.notify_all();
}

Captures& captures() {
  static Captures instance;
  return instance;
}

}  // namespace belfry::cuda
