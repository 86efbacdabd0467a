#include "belfry/framework/train/turns.h"

namespace belfry {

void Turns::wait_for_turn(std::unique_lock<std::mutex>& lock, int depth) {
  std::uint64_t own = next_++;
  ended_.wait(lock, [&] { return current_ == own; });
  owner_ = std::this_thread::get_id();
  depth_ = depth;
}

void Turns::take_turn() {
  std::unique_lock lock(mutex_);
  if (depth_ > 0 && owner_ == std::this_thread::get_id()) {
    ++depth_;
  } else {
    wait_for_turn(lock, 1);
  }
}

void Turns::end_turn() {
  std::lock_guard lock(mutex_);
  if (--depth_ > 0) return;
  ++current_;
  ended_.notify_all();
}

int Turns::leave() {
  std::lock_guard lock(mutex_);
  if (depth_ == 0 || owner_ != std::this_thread::get_id()) return 0;
  ++current_;
  ended_.notify_all();
  return std::exchange(depth_, 0);
}

void Turns::come_back(int depth) {
  if (depth == 0) return;
  std::unique_lock lock(mutex_);
  wait_for_turn(lock, depth);
}

}  // namespace belfry
