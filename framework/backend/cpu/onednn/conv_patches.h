#pragma once
// A convolution as a matrix product: its rows are patches, what each window reads.

#include <algorithm>
#include <cstdint>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// The patches of images of T, a block of them at a time. A patch is [taps, in channels]; where
/// each window reads its own pixel, the image is all patches.
template <class T>
class Patches {
 public:
  Patches(const ConvGeometry& g, int threads)
      : g_(g), threads_(threads), size_(g.taps() * g.in_channels), block_(g.out_positions()) {
    // Small enough to be multiplied while they are in the cache.
    constexpr std::int64_t numbers = 1 << 20, unit = 32;  // sums of bf16 go in pairs of vectors
    std::int64_t fitting = std::max(numbers / size_ / unit, std::int64_t{2}) * unit;
    if (!g.is_product()) block_ = std::min(block_, fitting);
  }

  std::int64_t size() const { return size_; }  ///< numbers of a patch
  std::int64_t block() const { return block_; }
  std::int64_t blocks() const { return ceil_div(g_.out_positions(), block_); }
  Bytes workspace() const {
    return Bytes(g_.is_product() ? 0 : block_ * size_ * std::int64_t{sizeof(T)});
  }

  /// Calls multiply(patches, index of the first, how many) for each block.
  template <class Multiply>
  void for_blocks(const T* x, void* workspace, const Multiply& multiply) const {
    if (g_.is_product()) return multiply(x, 0, block_);
    auto* patches = static_cast<T*>(workspace);
    for (std::int64_t first = 0; first < g_.out_positions(); first += block_) {
      std::int64_t count = std::min(block_, g_.out_positions() - first);
      parallel_for(count, 16, threads_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) gather(x, first + i, patches + i * size_);
      });
      multiply(patches, first, count);
    }
  }

 private:
  /// Taps outside the image read zeros.
  void gather(const T* x, std::int64_t position, T* to) const {
    std::int64_t line = position / g_.columns.out, plane = line / g_.rows.out;
    Position out{plane / g_.depth.out, plane % g_.depth.out, line % g_.rows.out,
                 position % g_.columns.out};
    for (std::int64_t d = 0; d < g_.depth.window; ++d)
      for (std::int64_t h = 0; h < g_.rows.window; ++h)
        for (std::int64_t w = 0; w < g_.columns.window; ++w, to += g_.in_channels) {
          Position in = g_.input_at(out, {0, d, h, w});
          if (g_.inside(in))
            std::copy_n(x + g_.input_offset(in), g_.in_channels, to);
          else
            std::fill_n(to, g_.in_channels, T{});
        }
  }

  ConvGeometry g_;
  int threads_;
  std::int64_t size_, block_;
};

}  // namespace belfry::cpu
