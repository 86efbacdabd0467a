// concat: the output is a row of segments, one of each part for each place of the outer axes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

class ConcatKernel final : public Kernel {
 public:
  /// `segments`: bytes of each part that lie together.
  ConcatKernel(std::vector<std::int64_t> segments, std::int64_t bytes, int threads)
      : segments_(std::move(segments)), bytes_(bytes), threads_(threads) {
    for (std::int64_t segment : segments_) block_bytes_ += segment;
  }

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    parallel_for(bytes_, bytes_worth_sharing, threads_,
                 [&](std::int64_t begin, std::int64_t end) { copy(a, begin, end); });
  }

 private:
  static constexpr std::int64_t bytes_worth_sharing = 65536;

  // The bytes of the output from `begin` to `end`.
  void copy(const KernelArguments& a, std::int64_t begin, std::int64_t end) const {
    auto* y = a.output<std::byte>(0);
    std::int64_t block = begin / block_bytes_, skip = begin % block_bytes_;
    for (std::int64_t at = begin; at < end; ++block) {
      for (std::size_t part = 0; part < segments_.size() && at < end; ++part) {
        std::int64_t size = segments_[part], n = std::min(size - skip, end - at);
        if (n > 0) {
          const auto* x = a.input<std::byte>(part);
          std::memcpy(y + at, x + block * size + skip, n);
          at += n;
        }
        skip = std::max<std::int64_t>(skip - size, 0);
      }
    }
  }

  std::vector<std::int64_t> segments_;
  std::int64_t block_bytes_ = 0, bytes_;
  int threads_;
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  int axis = node.as<AxisOptions>().axis;
  std::int64_t blocks = 1;
  for (int i = 0; i < axis; ++i) blocks *= node.output().shape[i];
  std::vector<std::int64_t> segments;
  for (const Tensor& part : node.inputs())
    segments.push_back(part.type().bytes() / std::max<std::int64_t>(blocks, 1));
  return std::make_unique<ConcatKernel>(std::move(segments), node.output().bytes(), threads);
}

const KernelRegistration registration(concat_op, make);

}  // namespace
}  // namespace belfry::cpu
