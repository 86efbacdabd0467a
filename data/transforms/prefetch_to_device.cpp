#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "belfry/data/transforms/read_ahead.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/sole_owner.h"

namespace belfry::data {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Copies each element into a buffer that nobody uses: there are as many as were ever in use at
// once. Their memory is allocated once and only grows.
class IntoBuffers final : public Iterator {
 public:
  IntoBuffers(IteratorPtr source, AllocateHost allocate)
      : source_(std::move(source)), allocate_(std::move(allocate)) {}

  bool next(Element& out) override {
    out.features.clear();  // it may be the last user of a buffer
    if (!source_->next(element_)) return false;
    copy_name(element_, out);
    Buffer& buffer = free_buffer();
    std::int64_t bytes = needed(element_.features);
    largest_ = std::max(largest_, bytes);
    if (buffer.size < bytes) buffer.grow(largest_, allocate_);
    std::int64_t offset = 0;
    for (const auto& [name, array] : element_.features) {
      std::byte* to = static_cast<std::byte*>(buffer.memory.get()) + offset;
      if (array.bytes() > 0) std::memcpy(to, array.raw(), array.bytes());
      out.features.set(name, Array(array.type(), to, buffer.memory));
      offset += aligned(array.bytes());
    }
    return true;
  }

  std::int64_t skip(std::int64_t count) override { return source_->skip(count); }
  void position(Position& at) override { source_->position(at); }

 private:
  struct Buffer {
    std::shared_ptr<void> memory;
    std::int64_t size = 0;

    bool is_free() const { return sole_owner(memory); }
    // By half at least, as pinning takes long.
    void grow(std::int64_t bytes, const AllocateHost& allocate) {
      bytes = std::max(bytes, size + size / 2);
      memory = allocate(Bytes(bytes));
      if (!memory) throw OutOfMemory("prefetch_to_device: no host memory was allocated");
      size = bytes;
    }
  };

  static std::int64_t needed(const Features& features) {
    std::int64_t bytes = alignment;
    for (const auto& [name, array] : features) bytes += aligned(array.bytes());
    return bytes;
  }

  Buffer& free_buffer() {
    for (Buffer& buffer : buffers_)
      if (buffer.is_free()) return buffer;
    return buffers_.emplace_back();
  }

  IteratorPtr source_;
  AllocateHost allocate_;
  std::vector<Buffer> buffers_;
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
  require(options.buffers >= 1, "prefetch_to_device: there must be at least 1 buffer, got ",
          options.buffers);
  require_ahead("prefetch_to_device", options.buffers);
  auto into_buffers = [=](IteratorPtr source, const Pass& pass) {
    AllocateHost allocate = options.allocate     ? options.allocate
                            : pass.allocate_host ? pass.allocate_host
                                                 : allocate_plain;
    return std::make_unique<IntoBuffers>(std::move(source), std::move(allocate));
  };
  Transform buffers = wrap("slots", into_buffers, same_elements);
  return [=](Dataset source) { return source | buffers | prefetch(options.buffers); };
}

}  // namespace belfry::data
