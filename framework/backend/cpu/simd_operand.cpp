#include "belfry/framework/backend/cpu/simd_operand.h"

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"

namespace belfry::cpu {
namespace {

constexpr std::int64_t longest_pattern = 16384;  // beyond it, copying a tile at a time is as cheap

}  // namespace

TileOperand::TileOperand(const TensorType& operand, const Shape& out) : dtype_(operand.dtype) {
  Strides strides = broadcast_strides(operand.shape, out);
  for (int i = out.rank() - 1; i >= 0; --i) {
    if (out[i] == 1) continue;
    Axis axis{out[i], strides[i]};
    if (!axes_.empty() && axis.stride == axes_.back().stride * axes_.back().size)
      axes_.back().size *= axis.size;
    else
      axes_.push_back(axis);
  }
  bool repeats = axes_.size() == 2 && axes_[0].stride == 1 && axes_[1].stride == 0
                 && axes_[0].size <= longest_pattern;
  if (axes_.empty() || (axes_.size() == 1 && axes_[0].stride == 1)) {
    access_ = dtype_ == DType::f32 ? Access::direct : Access::convert;
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

void TileOperand::build_pattern(const SimdLoops& loops, const void* data, float* pattern,
                                std::int64_t tile) const {
  load_floats(loops, dtype_, data, 0, period_, pattern);
  for (std::int64_t i = period_; i < period_ + tile; ++i) pattern[i] = pattern[i - period_];
}

void TileOperand::load(const SimdLoops& loops, const void* data, std::int64_t at, std::int64_t n,
                       float* tile) const {
  if (access_ == Access::direct || access_ == Access::convert)
    load_floats(loops, dtype_, data, at, n, tile);
  else
    load_runs(loops, data, at, n, tile);
}

void TileOperand::load_runs(const SimdLoops& loops, const void* data, std::int64_t at,
                            std::int64_t n, float* tile) const {
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
    load_floats(loops, dtype_, data, offset, inner.stride == 0 ? 1 : run, tile + done);
    if (inner.stride == 0) std::fill_n(tile + done, run, tile[done]);
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
