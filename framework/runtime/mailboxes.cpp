#include "belfry/framework/runtime/mailboxes.h"

#include "belfry/framework/ops/transfer.h"

namespace belfry {

void Mailboxes::add(const Node& receive, Device& from) {
  const auto& options = receive.as<TransferOptions>();
  boxes_[options.number] = {Bytes(options.type.bytes()), from.make_event(), options.name};
}

void Mailboxes::begin_step() {
  for (auto& [number, box] : boxes_) box.sent = false;
  failure_.clear();
}

void Mailboxes::send(int number, const void* from, Stream& stream) {
  Mailbox& box = boxes_.at(number);
  stream.copy_on_device(box.address, from, box.size);
  stream.record(*box.filled);
  std::lock_guard lock(mutex_);
  box.sent = true;
  changed_.notify_all();
}

void Mailboxes::receive(int number, Stream& stream) {
  Mailbox& box = boxes_.at(number);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return box.sent || !failure_.empty(); });
    require(box.sent, "waiting for ", box.name, " of another slot: ", failure_);
  }
  stream.wait(*box.filled);
}

void Mailboxes::abort(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = reason;
  changed_.notify_all();
}

}  // namespace belfry
