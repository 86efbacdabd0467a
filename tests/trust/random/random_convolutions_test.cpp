// Convolutions of random sizes, strides, dilations, groups and paddings, over images and volumes,
// and their gradients: the fast kernels give the bits of the reference. All numbers are multiples
// of 1/4 below 2, so that sums of products are exact in f32, in any order.
//
// BELFRY_RANDOM_CONVOLUTIONS says how many there are, BELFRY_RANDOM_SEED where their seeds begin:
// with 1 and its seed, one is tried alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "../../framework/base/from_environment.h"
#include "../tell_count.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

using Kind = Padding::Kind;

struct Axis {
  std::int64_t in = 1, window = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

class RandomConvolution {
 public:
  RandomConvolution(std::uint64_t seed, DType dtype)
      : random_(philox_key(seed, "convolution")), dtype_(dtype), volume_(random_.below(2) == 1) {
    std::int64_t groups = random_.below(2) ? 1 : pick(2, 6), in_per_group = pick_channels(),
                 out = groups * pick_channels(), batch = pick(1, 4);
    const auto padding =
        std::array{Kind::same, Kind::same, Kind::given, Kind::valid}[random_.below(4)];
    const std::int64_t large = pick(0, 9);  // this axis, if there is one
    for (int i = volume_ ? 0 : 1; i < 3; ++i) axes_[i] = pick_axis(padding, i == large ? 30 : 9);
    x_ = input(graph_, "x", {shape_of(batch, &Axis::in, {in_per_group * groups}), dtype});
    kernel_ = input(graph_, "kernel", {shape_of(0, &Axis::window, {in_per_group, out}), dtype});
    y_ = convolve(groups, padding);
    dy_ = input(graph_, "dy", y_.type());
    std::vector<Tensor> xs{x_, kernel_};
    results_ = gradients(y_, xs, dy_);
    results_.push_back(y_);
  }

  void check() {
    std::map<std::string, Array> feed{{"x", quarters(x_.shape())},
                                      {"kernel", quarters(kernel_.shape())},
                                      {"dy", quarters(dy_.shape())}};
    std::vector<Array> wanted = evaluate(results_, feed, {.fast = false}),
                       got = evaluate(results_, feed);
    constexpr std::array<const char*, 3> names{"gradient of x", "gradient of kernel", "result"};
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(identical(got[i], wanted[i])) << names[i] << " of " << to_string(y_.node());
  }

 private:
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least
           + static_cast<std::int64_t>(random_.below(static_cast<std::uint32_t>(most - least + 1)));
  }
  std::int64_t pick_channels() { return random_.below(2) ? pick(1, 3) : pick(1, 40); }

  Axis pick_axis(Kind padding, std::int64_t largest) {
    Axis out{pick(1, random_.below(2) ? 3 : largest), pick(1, random_.below(4) ? 4 : 7), pick(1, 3),
             random_.below(4) ? 1 : 2};
    if (padding == Kind::given) {
      out.before = pick(0, 4);
      out.after = pick(0, 4);
    }
    if (padding != Kind::same)
      out.in = std::max(out.in, (out.window - 1) * out.dilation + 1 - out.before - out.after);
    return out;
  }

  // `batch` is 0 for a kernel.
  Shape shape_of(std::int64_t batch, std::int64_t Axis::*size, std::vector<std::int64_t> channels) {
    std::vector<std::int64_t> out;
    if (batch > 0) out.push_back(batch);
    for (int i = volume_ ? 0 : 1; i < 3; ++i) out.push_back(axes_[i].*size);
    out.insert(out.end(), channels.begin(), channels.end());
    return Shape(out);
  }

  Tensor convolve(std::int64_t groups, Kind padding) {
    const auto& [d, h, w] = axes_;
    const Size3 stride{d.stride, h.stride, w.stride}, dilation{d.dilation, h.dilation, w.dilation};
    if (volume_) {
      Padding p =
          Padding::explicit_amounts(d.before, d.after, h.before, h.after, w.before, w.after);
      p.kind = padding;
      return conv3d(x_, kernel_,
                    {.stride = stride, .dilation = dilation, .groups = groups, .padding = p});
    }
    Padding p = Padding::explicit_amounts(h.before, h.after, w.before, w.after);
    p.kind = padding;
    return conv2d(x_, kernel_,
                  {.stride = {stride.rows, stride.columns},
                   .dilation = {dilation.rows, dilation.columns},
                   .groups = groups,
                   .padding = p});
  }

  Array quarters(const Shape& shape) {
    Array out = Array::zeros(shape, DType::f32);
    for (float& value : out.span<float>()) value = static_cast<float>(pick(-7, 7)) / 4;
    return out.cast(dtype_);
  }

  PhiloxStream random_;
  DType dtype_;
  bool volume_;
  std::array<Axis, 3> axes_;
  Graph graph_;
  Tensor x_, kernel_, y_, dy_;
  std::vector<Tensor> results_;
};

TEST(RandomConvolutions, GiveTheBitsOfTheReference) {
  std::int64_t first = from_environment("BELFRY_RANDOM_SEED", 0),
               count = from_environment("BELFRY_RANDOM_CONVOLUTIONS", 300);
  for (std::int64_t seed = first; seed < first + count; ++seed)
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      SCOPED_TRACE(concat("seed ", seed, ", ", dtype));
      RandomConvolution(static_cast<std::uint64_t>(seed), dtype).check();
    }
  tell_count(3 * count, "random convolutions with their gradients");
}

}  // namespace
}  // namespace belfry
