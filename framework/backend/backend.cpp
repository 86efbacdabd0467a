#include "belfry/framework/backend/backend.h"

#include <charconv>
#include <map>

#include "belfry/framework/base/mutex.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry {
namespace {

struct Kind {
  DeviceFactory factory;
  std::function<DevicesPresent()> present;
};

struct Registry {
  Mutex mutex;
  std::map<std::string, Kind, std::less<>> kinds BELFRY_GUARDED_BY(mutex);
  std::map<std::string, std::weak_ptr<Device>> devices BELFRY_GUARDED_BY(mutex);
};

Registry& registry() {
  static Registry instance;
  return instance;
}

class HostKernel final : public Kernel {
 public:
  explicit HostKernel(const Node& node)
      : function_(node.op().reference), op_(node.op().name), options_(node.options()) {
    ensure(function_, "no reference kernel for ", node);
    for (const Tensor& t : node.inputs()) inputs_.push_back({t.type(), nullptr});
    for (const TensorType& t : node.outputs()) outputs_.push_back({t, nullptr});
  }

  std::string_view implementation() const override { return "reference"; }

  void run(const KernelArguments& arguments, Stream&) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = arguments.inputs[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = arguments.outputs[i];
    function_({op_, inputs_, outputs_, options_});
  }

 private:
  ReferenceKernel function_;
  std::string_view op_;
  Options options_;
  std::vector<ArrayView> inputs_, outputs_;
};

std::string known_kinds(const Registry& known) BELFRY_REQUIRES(known.mutex) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : known.kinds) names.push_back(name);
  return join(names, ", ");
}

// The index in `name`, for example "cpu:3" or "cpu".
int index_in(std::string_view name, std::string_view kind) {
  std::string_view digits = name == kind ? "0" : name.substr(kind.size() + 1);
  int index = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  require(error == std::errc() && end == digits.data() + digits.size() && index >= 0, "device: `",
          name, "` is not a device name; write for example ", kind, " or ", kind, ":0");
  return index;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (!device_) return;
  device_->free_raw(data_, size_);
  MutexLock lock(device_->mutex_);
  device_->in_use_ = Bytes(device_->in_use_.count - size_.count);
}

DeviceMemory Device::allocate(Bytes size, std::string_view what) {
  auto explain = [&](std::string_view why) BELFRY_REQUIRES(mutex_) {
    return concat(what, ": ", why, " on ", name(), ": ", bytes_text(size.count), " asked for, ",
                  bytes_text(in_use_.count), " in use, ", bytes_text(limit_.count), " allowed");
  };
  MutexLock lock(mutex_);
  if (size.count > limit_.count - in_use_.count)
    throw OutOfMemory(explain("over the memory limit"));
  void* data = allocate_raw(size);
  if (!data) throw OutOfMemory(explain("out of memory"));  // from here on a throw would lose it
  in_use_ = Bytes(in_use_.count + size.count);
  return {*this, data, size};
}

Bytes Device::memory_in_use() const {
  MutexLock lock(mutex_);
  return in_use_;
}

Bytes Device::memory_limit() const {
  MutexLock lock(mutex_);
  return limit_;
}

Bytes Device::available_memory() const {
  MutexLock lock(mutex_);
  return Bytes(at_first_.count - in_use_.count);
}

void Device::set_memory_limit(Bytes limit) {
  MutexLock lock(mutex_);
  limit_ = limit;
}

void Stream::begin_capture() { ensure(can_capture(), "stream: it cannot capture"); }
std::unique_ptr<CapturedWork> Stream::end_capture() {
  ensure(can_capture(), "stream: it cannot capture");
  return nullptr;
}
void Stream::replay(CapturedWork&) { ensure(can_capture(), "stream: it cannot capture"); }

std::unique_ptr<Kernel> make_reference_kernel(const Node& node) {
  return std::make_unique<HostKernel>(node);
}

DeviceRegistration::DeviceRegistration(std::string kind, DeviceFactory factory,
                                       std::function<DevicesPresent()> present) {
  MutexLock lock(registry().mutex);
  registry().kinds[std::move(kind)] = {std::move(factory), std::move(present)};
}

std::vector<std::string> device_kinds() {
  MutexLock lock(registry().mutex);
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : registry().kinds) kinds.push_back(name);
  return kinds;
}

DevicesPresent devices_present(std::string_view kind) {
  MutexLock lock(registry().mutex);
  auto found = registry().kinds.find(kind);
  if (found == registry().kinds.end())
    return {.count = 0, .why_none = concat("this build knows no ", kind, " devices")};
  return found->second.present();
}

std::shared_ptr<Device> find_device(std::string_view name) {
  MutexLock lock(registry().mutex);
  require(!name.empty(), "device: the name is empty; this build knows ", known_kinds(registry()));
  std::string_view kind = name.substr(0, name.find(':'));
  auto found = registry().kinds.find(kind);
  require(found != registry().kinds.end(), "device: there is no `", name,
          "` in this build; it knows ", known_kinds(registry()),
          kind == "gpu" ? "; NVIDIA's GPUs are cuda:0, cuda:1, ..." : "");
  int index = index_in(name, kind);
  auto& entry = registry().devices[concat(kind, ":", index)];
  std::shared_ptr<Device> device = entry.lock();
  if (!device) entry = device = found->second.factory(index);
  return device;
}

}  // namespace belfry
