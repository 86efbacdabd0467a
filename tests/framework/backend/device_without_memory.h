#pragma once
// A device for plans that nobody runs.

#include "belfry/framework/backend/backend.h"

namespace belfry {

/// Has no kernels, unless a test derives one that has.
class DeviceWithoutMemory : public Device {
 public:
  DeviceWithoutMemory() : Device(Bytes(1000), Bytes(1000)) {}
  std::string name() const override { return "bare:0"; }
  std::string description() const override { return "bare"; }
  bool host_accessible() const override { return false; }
  std::shared_ptr<void> allocate_host(Bytes) override { return nullptr; }
  std::unique_ptr<Stream> make_stream() override { return nullptr; }
  std::unique_ptr<Event> make_event(bool) override { return nullptr; }
  std::unique_ptr<Kernel> find_kernel(const Node&, const KernelOptions&) override {
    return nullptr;
  }
  std::shared_ptr<Communicator> make_communicator(std::span<Device* const>,
                                                  const CommunicatorOptions&) override {
    return nullptr;
  }

 protected:
  void* allocate_raw(Bytes) override { return nullptr; }
  void free_raw(void*, Bytes) noexcept override {}
};

/// A kernel by its implementation, which computes nothing.
class NamedKernel : public Kernel {
 public:
  explicit NamedKernel(std::string name) : name_(std::move(name)) {}
  std::string_view implementation() const override { return name_; }
  void run(const KernelArguments&, Stream&) override {}

 private:
  std::string name_;
};

}  // namespace belfry
