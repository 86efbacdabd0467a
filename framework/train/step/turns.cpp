#include "belfry/framework/train/step/turns.h"

namespace belfry {

void Turns::wait_for_turn(int depth) {
  std::uint64_t own = next_++;
  while (current_ != own) ended_.wait(mutex_);
  owner_ = std::this_thread::get_id();
  depth_ = depth;
}

void Turns::take_turn() {
  MutexLock lock(mutex_);
  if (depth_ > 0 && owner_ == std::this_thread::get_id()) {
    ++depth_;
  } else {
    wait_for_turn(1);
  }
}

void Turns::end_turn() {
  MutexLock lock(mutex_);
  if (--depth_ > 0) return;
  ++current_;
  ended_.notify_all();
}

int Turns::leave() {
  MutexLock lock(mutex_);
  if (depth_ == 0 || owner_ != std::this_thread::get_id()) return 0;
  ++current_;
  ended_.notify_all();
  return std::exchange(depth_, 0);
}

void Turns::come_back(int depth) {
  if (depth == 0) return;
  MutexLock lock(mutex_);
  wait_for_turn(depth);
}

}  // namespace belfry
