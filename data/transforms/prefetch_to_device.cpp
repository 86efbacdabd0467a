#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/sole_owner.h"

namespace belfry::data {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Copies each element into one of a fixed number of slots, whose memory is allocated once and only
// grows.
class Slots final : public Iterator {
 public:
  Slots(IteratorPtr source, PrefetchToDeviceOptions options)
      : source_(std::move(source)),
        allocate_(std::move(options.allocate)),
        slots_(static_cast<std::size_t>(options.slots) + 2) {}

  bool next(Element& out) override {
    out.features.clear();  // it may be the last user of a slot
    if (!source_->next(element_)) return false;
    copy_name(element_, out);
    Slot& slot = free_slot();
    slot.hold(needed(element_.features), allocate_);
    std::int64_t offset = 0;
    for (const auto& [name, array] : element_.features) {
      std::byte* place = static_cast<std::byte*>(slot.memory.get()) + offset;
      if (array.bytes() > 0)
        std::memcpy(place, array.raw(), static_cast<std::size_t>(array.bytes()));
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
    void hold(std::int64_t bytes, const AllocateHost& allocate) {
      if (bytes <= size && is_free() && memory) return;
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

  // Consumers that keep elements get new memory for each.
  Slot& free_slot() {
    for (Slot& slot : slots_)
      if (slot.is_free()) return slot;
    return slots_[turn_++ % slots_.size()];
  }

  IteratorPtr source_;
  AllocateHost allocate_;
  std::vector<Slot> slots_;  // those in the buffer, that of the consumer and the one being filled
  std::size_t turn_ = 0;
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
  if (!options.allocate) options.allocate = allocate_plain;
  Transform into_slots = wrap(
      "slots",
      [=](IteratorPtr source, const Pass&) {
        return std::make_unique<Slots>(std::move(source), options);
      },
      same_elements);
  return [=](Dataset source) { return source | into_slots | prefetch(options.slots); };
}

}  // namespace belfry::data
