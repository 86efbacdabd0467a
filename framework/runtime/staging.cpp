#include "belfry/framework/runtime/staging.h"

#include <cstring>
#include <thread>

namespace belfry {

Staging::Staging(Device& device, const Plan& plan) {
  for (const Node* node : plan.inputs) {
    input_at_.push_back(input_bytes_);
    input_bytes_ += staged_bytes(node->output());
  }
  for (const Tensor& output : plan.program.outputs) {
    result_at_.push_back(result_bytes_);
    result_bytes_ += staged_bytes(output.type());
  }
  inputs_ = device.allocate(Bytes(input_bytes_), "the step's inputs");
  arriving_ = device.allocate(Bytes(input_bytes_), "the next step's inputs");
  results_ = device.allocate(Bytes(result_bytes_), "the step's outputs");
  uploads_ = device.make_stream();
  taken_ = device.make_event();
  auto pinned = [&](std::int64_t bytes, const char* what) {
    return with_context(what, [&] {
      return std::static_pointer_cast<std::byte>(device.allocate_host(Bytes(bytes)));
    });
  };
  for (Slot& slot : slots_)
    slot = {pinned(input_bytes_, "for a step's inputs"),
            pinned(result_bytes_, "for a step's outputs"), device.make_event(),
            device.make_event(true), device.make_event(true)};
}

Staging::~Staging() {
  auto wait = [](auto& work) {
    try {
      work.synchronize();
    } catch (const std::exception&) {
      // What a step found wrong that nobody asks for any more.
    }
  };
  wait(*uploads_);
  for (Slot& slot : slots_) wait(*slot.finished);
}

void Staging::begin_step() {
  ensure(under_way() < 2, "staging: two steps are under way already");
  slot().uploaded->synchronize();
}

void Staging::upload(Stream& compute) {
  uploads_->wait(*taken_);
  uploads_->copy_to_device(arriving_.data(), slot().inputs.get(), Bytes(input_bytes_));
  uploads_->record(*slot().uploaded);
  compute.wait(*slot().uploaded);
  compute.record(*slot().started);
  compute.copy_on_device(inputs_.data(), arriving_.data(), Bytes(input_bytes_));
  compute.record(*taken_);
}

void Staging::download(Stream& compute) {
  compute.copy_to_host(slot().results.get(), results_.data(), Bytes(result_bytes_));
  compute.record(*slot().finished);
  ++enqueued_;
}

double Staging::collect(std::vector<Array>& outputs, const std::function<void()>& check) {
  ensure(under_way() > 0, "staging: no step is under way");
  Slot& oldest = slots_[static_cast<std::size_t>(collected_ % 2)];
  while (check && !oldest.finished->done()) {
    check();
    std::this_thread::yield();
  }
  ++collected_;
  oldest.finished->synchronize();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].bytes() > 0)
      std::memcpy(outputs[i].raw(), oldest.results.get() + result_at_[i],
                  static_cast<std::size_t>(outputs[i].bytes()));
  return oldest.finished->seconds_since(*oldest.started);
}

}  // namespace belfry
