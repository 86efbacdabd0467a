#include "belfry/framework/runtime/mailboxes.h"

#include <new>

#include "belfry/framework/ops/transfer.h"

namespace belfry {

void Mailboxes::add(const Node& receive, Device& from) {
  const auto& options = receive.as<TransferOptions>();
  boxes_[options.number] = {Bytes(options.type.bytes()), from.make_event(), options.name};
  MutexLock lock(mutex_);
  sent_[options.number] = false;
}

void Mailboxes::begin_step() {
  MutexLock lock(mutex_);
  for (auto& [number, sent] : sent_) sent = false;
  failure_.clear();
}

void Mailboxes::send(int number, const void* from, Stream& stream) {
  Mailbox& box = boxes_.at(number);
  stream.copy_on_device(box.address, from, box.size);
  stream.record(*box.filled);
  MutexLock lock(mutex_);
  sent_.at(number) = true;
  changed_.notify_all();
}

void Mailboxes::receive(int number, Stream& stream) {
  Mailbox& box = boxes_.at(number);
  {
    MutexLock lock(mutex_);
    while (!sent_.at(number) && failure_.empty()) changed_.wait(mutex_);
    require(sent_.at(number), "waiting for ", box.name, " of another device: ", failure_);
  }
  stream.wait(*box.filled);
}

void Mailboxes::abort(std::string_view reason) noexcept {
  MutexLock lock(mutex_);
  try {
    if (failure_.empty()) failure_ = reason;
  } catch (const std::bad_alloc&) {
    failure_ = "out of memory";  // so short a text needs none
  }
  changed_.notify_all();
}

}  // namespace belfry
