#pragma once
// Who may use a session. Internal to train/.

#include <cstdint>
#include <thread>
#include <utility>

#include "belfry/framework/base/mutex.h"

namespace belfry {

/// Lets one thread at a time have its turn, in the order in which they asked: neither a training
/// nor any of those that predict beside it ever waits for more than one turn of each of the others.
/// From any thread. It outlives its turns: who takes one holds its session for longer.
class Turns {
 public:
  /// Ends when it goes, on the thread that took it.
  class Turn {
   public:
    explicit Turn(Turns& turns) : turns_(turns) { turns_.take_turn(); }
    ~Turn() { turns_.end_turn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
  };
  /// Interrupts the turn of this thread, if it has one, until it goes and the turn comes round
  /// again.
  class Interruption {
   public:
    explicit Interruption(Turns& turns) : turns_(turns), depth_(turns.leave()) {}
    ~Interruption() { turns_.come_back(depth_); }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

   private:
    Turns& turns_;
    int depth_;
  };

  /// Waits for the turn; a thread that has it may take it again.
  [[nodiscard]] Turn acquire() { return Turn(*this); }
  /// For a thread that is about to wait for something else.
  [[nodiscard]] Interruption let_others() { return Interruption(*this); }

 private:
  void take_turn();
  void end_turn();
  int leave();
  void come_back(int depth);
  void wait_for_turn(int depth) BELFRY_REQUIRES(mutex_);

  Mutex mutex_;
  Condition ended_;
  std::uint64_t next_ BELFRY_GUARDED_BY(mutex_) = 0;     // number of the next who asks
  std::uint64_t current_ BELFRY_GUARDED_BY(mutex_) = 0;  // whose turn it is
  std::thread::id owner_ BELFRY_GUARDED_BY(mutex_) = {};
  int depth_ BELFRY_GUARDED_BY(mutex_) = 0;  // how often the owner has taken it
};

}  // namespace belfry
