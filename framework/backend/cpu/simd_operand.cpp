#include "belfry/framework/backend/cpu/simd_operand.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "belfry/framework/ops/strided_walk.h"

namespace belfry::cpu {
namespace {

constexpr std::int64_t longest_pattern = 16384;  // beyond it, copying a tile at a time is as cheap

}  // namespace

TileOperand::TileOperand(const TensorType& operand, const Shape& out)
    : boolean_(operand.dtype == DType::boolean) {
  Strides strides = broadcast_strides(operand.shape, out);
  for (int i = out.rank() - 1; i >= 0; --i) {
    if (out[i] == 1) continue;
    Axis axis{out[i], strides[static_cast<std::size_t>(i)]};
    if (!axes_.empty() && axis.stride == axes_.back().stride * axes_.back().size)
      axes_.back().size *= axis.size;
    else
      axes_.push_back(axis);
  }
  bool repeats = axes_.size() == 2 && axes_[0].stride == 1 && axes_[1].stride == 0
                 && axes_[0].size <= longest_pattern;
  if (axes_.empty() || (axes_.size() == 1 && axes_[0].stride == 1)) {
    access_ = boolean_ ? Access::convert : Access::direct;
  } else if (axes_.size() == 1) {
    access_ = Access::pattern;
    period_ = 1;
  } else if (repeats) {
    access_ = Access::pattern;
    period_ = axes_[0].size;
  } else {
    access_ = Access::runs;
  }
}

std::int64_t TileOperand::pattern_size(std::int64_t tile) const {
  return access_ == Access::pattern ? period_ + tile : 0;
}

void TileOperand::build_pattern(const void* data, float* pattern, std::int64_t tile) const {
  for (std::int64_t i = 0; i < period_; ++i)
    pattern[i] =
        boolean_ ? static_cast<const std::uint8_t*>(data)[i] : static_cast<const float*>(data)[i];
  for (std::int64_t i = period_; i < period_ + tile; ++i) pattern[i] = pattern[i - period_];
}

void TileOperand::load(const SimdLoops& loops, const void* data, std::int64_t at, std::int64_t n,
                       float* tile) const {
  if (access_ == Access::direct)
    std::memcpy(tile, static_cast<const float*>(data) + at,
                static_cast<std::size_t>(n) * sizeof(float));
  else if (access_ == Access::convert)
    loops.elementwise.from_bytes(static_cast<const std::uint8_t*>(data) + at, tile, n);
  else if (boolean_)
    load_runs(static_cast<const std::uint8_t*>(data), at, n, tile);
  else
    load_runs(static_cast<const float*>(data), at, n, tile);
}

template <class T>
void TileOperand::load_runs(const T* data, std::int64_t at, std::int64_t n, float* tile) const {
  std::array<std::int64_t, Shape::max_rank> index{};
  std::int64_t rest = at, offset = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    index[a] = rest % axes_[a].size;
    rest /= axes_[a].size;
    offset += index[a] * axes_[a].stride;
  }
  const Axis& inner = axes_[0];
  for (std::int64_t done = 0; done < n;) {
    std::int64_t run = std::min(inner.size - index[0], n - done);
    if (inner.stride == 0)
      std::fill_n(tile + done, run, static_cast<float>(data[offset]));
    else
      for (std::int64_t i = 0; i < run; ++i) tile[done + i] = static_cast<float>(data[offset + i]);
    done += run;
    offset -= index[0] * inner.stride;
    index[0] = 0;
    for (std::size_t a = 1; a < axes_.size(); ++a) {
      offset += axes_[a].stride;
      if (++index[a] < axes_[a].size) break;
      offset -= axes_[a].size * axes_[a].stride;
      index[a] = 0;
    }
  }
}

}  // namespace belfry::cpu
