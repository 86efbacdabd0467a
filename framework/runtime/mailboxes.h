#pragma once
// Where the slots of a tower leave values for each other.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "belfry/framework/backend/backend.h"

namespace belfry {

/// A place for each transfer of a step, at a fixed address on the device that receives, written
/// once a step. Thread rules: add() and begin_step() while no slot runs; send(), receive() and
/// abort() from the threads of the slots. Nothing in a step makes a heap allocation.
class Mailboxes {
 public:
  /// The memory of a receive node, on the device `to`. Error: it does not suffice.
  void add(const Node& receive, Device& from, Device& to);
  void* data(int number) const { return at(number).memory.data(); }

  /// Empties all; forgets a failure.
  void begin_step();
  /// Enqueues the copy of what `from` will hold by then.
  void send(int number, const void* from, Stream& stream);
  /// Waits until it was sent; what is enqueued on `stream` from now on reads it. Error: abort().
  void receive(int number, Stream& stream);
  /// Everybody who waits, or will in this step, throws Error with this reason.
  void abort(const std::string& reason);

 private:
  struct Mailbox {
    DeviceMemory memory;
    std::unique_ptr<Event> filled;
    std::string name;
    bool sent = false;
  };
  const Mailbox& at(int number) const { return boxes_.at(number); }

  std::map<int, Mailbox> boxes_;
  std::mutex mutex_;  // guards Mailbox::sent and the reason
  std::condition_variable changed_;
  std::string failure_;
};

}  // namespace belfry
