#include "../on_gpu.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

double layer_norm_difference(const Shape& shape, DType dtype) {
  Graph graph;
  DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  Shape channels{shape[shape.rank() - 1]};
  Tensor x = input(graph, "x", {shape, dtype}), dy = input(graph, "dy", {shape, dtype});
  Tensor scale = input(graph, "scale", {channels, wide});
  Tensor offset = input(graph, "offset", {channels, wide});
  Tensor y = layer_norm(x, scale, offset);
  std::vector<Tensor> outputs = gradients(y, std::vector<Tensor>{x, scale, offset}, dy);
  outputs.push_back(y);
  return difference_on_gpu(outputs, {{"x", numbers(shape, dtype, -1, 3)},
                                     {"dy", numbers(shape, dtype, -1, 2, 5)},
                                     {"scale", numbers(channels, wide, .5, 2)},
                                     {"offset", numbers(channels, wide, -1, 1, 7)}});
}

TEST(CudaLayerNorm, EveryTypeAndSize) {
  for (DType dtype : floating_types)
    for (const Shape& shape : {Shape{5, 2, 37}, Shape{3, 2056}, Shape{3, 1501}, Shape{700, 24}})
      EXPECT_LE(layer_norm_difference(shape, dtype), allowed(dtype, 16))
          << to_string(TensorType{shape, dtype});
}

TEST(CudaLayerNorm, Empty) { EXPECT_EQ(layer_norm_difference({0, 5}, DType::f32), 0); }

}  // namespace
}  // namespace belfry
