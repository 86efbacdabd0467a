#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "belfry/data/transforms/read_ahead.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/sole_owner.h"

namespace belfry::data {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Copies each element into a slot that nobody uses: there are as many as were ever in use at once.
// Their memory is allocated once and only grows.
class Slots final : public Iterator {
 public:
  Slots(IteratorPtr source, AllocateHost allocate)
      : source_(std::move(source)), allocate_(std::move(allocate)) {}

  bool next(Element& out) override {
    out.features.clear();  // it may be the last user of a slot
    if (!source_->next(element_)) return false;
    copy_name(element_, out);
    Slot& slot = free_slot();
    std::int64_t bytes = needed(element_.features);
    largest_ = std::max(largest_, bytes);
    if (slot.size < bytes) slot.grow(largest_, allocate_);
    std::int64_t offset = 0;
    for (const auto& [name, array] : element_.features) {
      std::byte* place = static_cast<std::byte*>(slot.memory.get()) + offset;
      if (array.bytes() > 0) std::memcpy(place, array.raw(), array.bytes());
      out.features.set(name, Array(array.type(), place, slot.memory));
      offset += aligned(array.bytes());
    }
    return true;
  }

  std::int64_t skip(std::int64_t count) override { return source_->skip(count); }
  void position(Position& at) override { source_->position(at); }

 private:
  struct Slot {
    std::shared_ptr<void> memory;
    std::int64_t size = 0;

    bool is_free() const { return sole_owner(memory); }
    // By half at least, as pinning takes long.
    void grow(std::int64_t bytes, const AllocateHost& allocate) {
      bytes = std::max(bytes, size + size / 2);
      memory = allocate(Bytes(bytes));
      ensure(memory != nullptr, "prefetch_to_device: no memory was allocated");
      size = bytes;
    }
  };

  static std::int64_t needed(const Features& features) {
    std::int64_t bytes = alignment;
    for (const auto& [name, array] : features) bytes += aligned(array.bytes());
    return bytes;
  }

  Slot& free_slot() {
    for (Slot& slot : slots_)
      if (slot.is_free()) return slot;
    return slots_.emplace_back();
  }

  IteratorPtr source_;
  AllocateHost allocate_;
  std::vector<Slot> slots_;
  std::int64_t largest_ = 0;  // bytes of an element so far
  Element element_;
};

std::shared_ptr<void> allocate_plain(Bytes size) {
  Array array(Shape{size.count}, DType::u8);
  void* data = array.raw();
  return {data, [array = std::move(array)](void*) {}};
}

}  // namespace

Transform prefetch_to_device(PrefetchToDeviceOptions options) {
  require(options.slots >= 1, "prefetch_to_device: there must be at least 1 slot, got ",
          options.slots);
  require_ahead("prefetch_to_device", options.slots);
  auto into_slots = [=](IteratorPtr source, const Pass& pass) {
    AllocateHost allocate = options.allocate     ? options.allocate
                            : pass.allocate_host ? pass.allocate_host
                                                 : allocate_plain;
    return std::make_unique<Slots>(std::move(source), std::move(allocate));
  };
  Transform slots = wrap("slots", into_slots, same_elements);
  return [=](Dataset source) { return source | slots | prefetch(options.slots); };
}

}  // namespace belfry::data
