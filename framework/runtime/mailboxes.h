#pragma once
// Where the devices of a tower leave values for each other.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/mutex.h"

namespace belfry {

/// An address for each transfer of a step, in the arena of the device that receives, written once a
/// step. Thread rules: add(), set_address() and begin_step() while no device runs; send(),
/// receive() and abort() from the threads of the devices. Nothing in a step makes a heap
/// allocation.
class Mailboxes {
 public:
  /// For what a receive node waits for.
  void add(const Node& receive, Device& from);
  /// Where it arrives in the steps that come.
  void set_address(int number, void* address) { boxes_.at(number).address = address; }

  /// Empties all; forgets a failure.
  void begin_step();
  /// Enqueues the copy of what `from` will hold by then.
  void send(int number, const void* from, Stream& stream);
  /// Waits until it was sent; what is enqueued on `stream` from now on reads it. Error: abort().
  void receive(int number, Stream& stream);
  /// Everybody who waits, or will in this step, throws Error with this reason.
  void abort(std::string_view reason) noexcept;

 private:
  struct Mailbox {
    Bytes size = Bytes(0);
    std::unique_ptr<Event> filled;
    std::string name;
    void* address = nullptr;
  };

  std::map<int, Mailbox> boxes_;
  Mutex mutex_;
  Condition changed_;
  std::map<int, bool> sent_ BELFRY_GUARDED_BY(mutex_);  // by number
  std::string failure_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace belfry
