#pragma once
// Convolutions as cuDNN's graphs: channels-last images, kernels with channels innermost, as tensor
// cores want them, any number of spatial axes. Internal to backend/cuda/toolkit.

#include "belfry/framework/backend/cuda/toolkit/cudnn/graph.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry::cuda {

using Sizes = std::vector<std::int64_t>;  // one a spatial axis

enum class ConvDirection : std::uint8_t { forward, input, kernel };

struct Convolution {
  ConvDirection direction = ConvDirection::forward;
  DType dtype = DType::f32;
  bool adds = false;  ///< the result is added to what lies there
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, in_per_group = 0;
  Sizes in = {}, out = {}, window = {}, stride = {}, dilation = {}, before = {}, after = {};

  /// [batch, spatial axes, channels]: arrays as Belfry has them.
  Shape x() const { return image(batch, in, in_channels); }
  Shape y() const { return image(batch, out, out_channels); }
  Shape bias() const { return image(1, Sizes(in.size(), 1), out_channels); }
  /// [out, window, in / groups], which is not how Belfry has it.
  Shape w() const { return image(out_channels, window, in_per_group); }

 private:
  static Shape image(std::int64_t first, const Sizes& sizes, std::int64_t last);
};

/// The convolution that a node is, of whatever op the direction says.
Convolution convolution_of(const Node& node, ConvDirection direction);

/// Operands of a plan; the direction says which one is written. The product, before a bias is
/// added, is in no memory.
enum OperandId : std::int64_t { id_x = 1, id_w, id_y, id_bias, id_product };

/// The plan of a convolution that is not empty, with a bias behind it if asked; nothing when cuDNN
/// has none.
std::optional<GraphPlan> find_plan(const std::shared_ptr<CudnnHandle>& library,
                                   const Convolution& c, bool bias, bool tf32);

}  // namespace belfry::cuda
