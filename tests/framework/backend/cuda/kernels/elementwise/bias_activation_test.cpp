#include "belfry/framework/backend/cuda/kernels/elementwise/bias_activation.h"

#include <gmock/gmock.h>

#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::IsNan;

// The values of y after the kernel; `bias` may have no elements.
Array applied(const Array& y, const Array& bias, bool relu) {
  Array result(y.shape(), y.dtype());
  auto device = find_device("cuda");
  auto stream = device->make_stream();
  DeviceMemory at = device->allocate(Bytes(y.bytes()), "y");
  DeviceMemory added = device->allocate(Bytes(bias.bytes() + 1), "bias");
  stream->copy_to_device(at.data(), y.raw(), Bytes(y.bytes()));
  stream->copy_to_device(added.data(), bias.raw(), Bytes(bias.bytes()));
  cuda::enqueue_bias_activation(
      *stream, {.dtype = y.dtype(), .rows = y.shape()[0], .columns = y.shape()[1], .relu = relu},
      at.data(), bias.elements() > 0 ? added.data() : nullptr);
  stream->copy_to_host(result.raw(), at.data(), Bytes(y.bytes()));
  stream->synchronize();
  return result;
}

const Array none(Shape{0}, DType::f32);

std::vector<float> floats(const Array& array) {
  auto elements = array.span<float>();
  return {elements.begin(), elements.end()};
}

TEST(CudaBiasActivation, RowsThatNoPackFits) {
  Array y = Array::of({1.f, -2.f, 3.f, -4.f, 5.f, std::nanf("")}, {2, 3});
  Array bias = Array::of({10.f, 1.f, -3.5f});
  EXPECT_THAT(floats(applied(y, bias, true)), ElementsAre(11, 0, 0, 6, 6, IsNan()));
  EXPECT_THAT(floats(applied(y, bias, false)), ElementsAre(11, -1, -.5f, 6, 6, IsNan()));
  EXPECT_THAT(floats(applied(y, none, true)), ElementsAre(1, 0, 3, 0, 5, IsNan()));
}

TEST(CudaBiasActivation, WholePacks) {
  Array y = Array::of({1.f, -2.f, 3.f, -4.f, 5.f, -6.f, 7.f, -8.f}, {2, 4});
  Array bias = Array::of({0.f, 1.f, 2.f, 5.f});
  EXPECT_THAT(floats(applied(y, bias, true)), ElementsAre(1, 0, 5, 1, 5, 0, 9, 0));
}

TEST(CudaBiasActivation, SixteenBitTypes) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Array y = Array::of({1.f, -2.f, 3.f}, {3, 1}).cast(dtype);
    Array got = applied(y, Array::of({1.f}).cast(dtype), true).cast(DType::f32);
    EXPECT_THAT(got.span<float>(), ElementsAre(2, 0, 4));
  }
}

}  // namespace
}  // namespace belfry
