#include "belfry/framework/runtime/staging.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace belfry {
namespace {

// Up to here the host copies an array sooner than it enqueues a copy.
constexpr std::int64_t small_bytes = 16 << 10;

void clear(std::vector<Array>& arrays) { std::fill(arrays.begin(), arrays.end(), Array()); }

}  // namespace

Staging::Staging(Device& device, const Plan& plan) : device_(device) {
  for (const Node* node : plan.inputs) {
    input_at_.push_back(input_bytes_);
    input_bytes_ += staged_bytes(node->output());
  }
  input_at_.push_back(input_bytes_);
  for (const Tensor& output : plan.program.outputs) {
    result_at_.push_back(result_bytes_);
    result_bytes_ += staged_bytes(output.type());
  }
  std::int64_t with_fault = input_bytes_ + staged_fault_bytes;
  memory_ = device.allocate(Bytes(with_fault + result_bytes_), "the step's inputs and outputs");
  arriving_ = device.allocate(Bytes(with_fault), "the next step's inputs");
  uploads_ = device.make_stream();
  taken_ = device.make_event();
  auto pinned = [&](std::int64_t bytes, const char* what) {
    return with_context(what, [&] {
      return std::static_pointer_cast<std::byte>(device.allocate_host(Bytes(bytes)));
    });
  };
  for (StepBuffers& buffers : buffers_)
    buffers = {pinned(input_bytes_, "for a step's inputs"),
               pinned(staged_fault_bytes + result_bytes_, "for a step's outputs"),
               std::vector<Array>(plan.inputs.size()),
               device.make_event(),
               device.make_event(true),
               device.make_event(true)};
  std::byte* zero = buffers_[0].results.get();  // before there are results
  std::memset(zero, 0, staged_fault_bytes);
  uploads_->copy_to_device(arriving_.data() + input_bytes_, zero, Bytes(staged_fault_bytes));
}

Staging::~Staging() {
  auto wait = [](auto& work) {
    try {
      work.synchronize();
    } catch (const std::exception&) {
      // The device is beyond help; who uses it next hears of it.
    }
  };
  wait(*uploads_);
  for (StepBuffers& buffers : buffers_) wait(*buffers.finished);
}

void Staging::begin_step() {
  ensure(under_way() < 2, "staging: two steps are under way already");
  buffers().uploaded->synchronize();
  clear(buffers().arrays);
}

void Staging::set_input(std::size_t i, const void* value, Bytes size) {
  if (size.count > 0) std::memcpy(buffers().inputs.get() + input_at_[i], value, size.count);
}

void Staging::set_input(std::size_t i, const Array& value) {
  if (value.bytes() > small_bytes && device_.is_pinned(value.raw())) {
    buffers().arrays[i] = value;
  } else {
    set_input(i, value.raw(), Bytes(value.bytes()));
  }
}

void Staging::upload(Stream& compute) {
  uploads_->wait(*taken_);
  std::int64_t begin = 0;  // of neighbours in the buffer
  auto upload_neighbours = [&](std::int64_t end) {
    if (end > begin)
      uploads_->copy_to_device(arriving_.data() + begin, buffers().inputs.get() + begin,
                               Bytes(end - begin));
  };
  for (std::size_t i = 0; i < buffers().arrays.size(); ++i) {
    const Array& array = buffers().arrays[i];
    if (!array.defined()) continue;
    upload_neighbours(input_at_[i]);
    uploads_->copy_to_device(arriving_.data() + input_at_[i], array.raw(), Bytes(array.bytes()));
    begin = input_at_[i + 1];
  }
  upload_neighbours(input_bytes_);
  uploads_->record(*buffers().uploaded);
  compute.wait(*buffers().uploaded);
  compute.record(*buffers().started);
  compute.copy_on_device(memory_.data(), arriving_.data(),
                         Bytes(input_bytes_ + staged_fault_bytes));
  compute.record(*taken_);
}

void Staging::download(Stream& compute) {
  compute.copy_to_host(buffers().results.get(), fault(), Bytes(staged_fault_bytes + result_bytes_));
  compute.record(*buffers().finished);
  ++enqueued_;
}

void Staging::check(Stream& compute) {
  std::uint64_t* word = reinterpret_cast<std::uint64_t*>(buffers().results.get());
  compute.copy_to_host(word, fault(), Bytes(sizeof(*word)));
  compute.synchronize();
  device_.throw_fault(*word);
}

double Staging::collect(std::vector<Array>& outputs, const std::function<void()>& check) {
  ensure(under_way() > 0, "staging: no step is under way");
  StepBuffers& oldest = buffers_[collected_ % 2];
  while (check && !oldest.finished->done()) {
    check();
    std::this_thread::yield();
  }
  ++collected_;
  oldest.finished->synchronize();
  clear(oldest.arrays);
  device_.throw_fault(*reinterpret_cast<const std::uint64_t*>(oldest.results.get()));
  const std::byte* results = oldest.results.get() + staged_fault_bytes;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].bytes() > 0)
      std::memcpy(outputs[i].raw(), results + result_at_[i], outputs[i].bytes());
  return oldest.finished->seconds_since(*oldest.started);
}

}  // namespace belfry
