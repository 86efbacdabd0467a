// Must not compile where the compiler checks locks.
#include "belfry/framework/base/mutex.h"

namespace belfry {

class Counter {
 public:
  int next() { return ++count_; }

 private:
  Mutex mutex_;
  int count_ BELFRY_GUARDED_BY(mutex_) = 0;
};

int count() { return Counter().next(); }

}  // namespace belfry
