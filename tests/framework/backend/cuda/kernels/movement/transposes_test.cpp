#include "belfry/framework/backend/cuda/kernels/movement/transposes.h"

#include <cstring>

#include "../on_gpu.h"
#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/together.h"

namespace belfry {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

// The transposes, by one kernel for all if there is one.
std::vector<Array> transposed(const std::vector<Array>& from, DType to) {
  auto device = find_device("cuda");
  auto stream = device->make_stream();
  stream->activate(1);
  std::vector<std::shared_ptr<Kernel>> kernels;
  std::vector<DeviceMemory> memory;
  std::vector<void*> inputs, outputs;
  std::vector<Array> results;
  for (const Array& a : from) {
    kernels.push_back(cuda::make_transpose(a.shape()[0], a.shape()[1], a.dtype(), to));
    results.emplace_back(Shape{a.shape()[1], a.shape()[0]}, to);
    memory.push_back(device->allocate(Bytes(a.bytes()), "a matrix"));
    inputs.push_back(memory.back().data());
    stream->copy_to_device(inputs.back(), a.raw(), Bytes(a.bytes()));
    memory.push_back(device->allocate(Bytes(results.back().bytes()), "its transpose"));
    outputs.push_back(memory.back().data());
  }
  std::shared_ptr<Kernel> all = device->together(kernels);
  EXPECT_NE(all, nullptr);
  if (!all) return results;
  all->run({.inputs = inputs, .outputs = outputs}, *stream);
  for (std::size_t i = 0; i < results.size(); ++i)
    stream->copy_to_host(results[i].raw(), outputs[i], Bytes(results[i].bytes()));
  stream->synchronize();
  return results;
}

// Casts round as the cast op does.
Array expected(const Array& from, DType to) {
  std::int64_t rows = from.shape()[0], columns = from.shape()[1];
  Array cast = from.cast(to), out(Shape{columns, rows}, to);
  std::size_t size = size_of(to);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      std::memcpy(out.raw_bytes().data() + (column * rows + row) * size,
                  cast.raw_bytes().data() + (row * columns + column) * size, size);
  return out;
}

// Whole tiles and parts of them, and more matrices than one launch takes.
TEST(CudaTransposes, ManyAtOnce) {
  std::vector<Matrix> sizes{{1, 1}, {32, 32}, {33, 64}, {7, 100}, {100, 7}, {147, 64}, {64, 1}};
  for (std::int64_t i = 0; i < 260; ++i) sizes.push_back({1 + i % 5, 2 + i % 3});
  for (auto [from, to] : {std::pair(DType::f32, DType::bf16), std::pair(DType::f32, DType::f16),
                          std::pair(DType::bf16, DType::f32), std::pair(DType::f16, DType::f32),
                          std::pair(DType::bf16, DType::bf16), std::pair(DType::f32, DType::f32),
                          std::pair(DType::f64, DType::f64)}) {
    std::vector<Array> matrices;
    for (const Matrix& m : sizes)
      matrices.push_back(numbers({m.rows, m.columns}, from, -2, 2, matrices.size()));
    std::vector<Array> got = transposed(matrices, to);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(identical(got[i], expected(matrices[i], to)))
          << to_string(from) << " to " << to_string(to) << ", matrix " << i;
  }
}

TEST(CudaTransposes, OfOtherTypesThereAreNone) {
  EXPECT_EQ(cuda::make_transpose(2, 3, DType::f64, DType::f32), nullptr);
  EXPECT_EQ(cuda::make_transpose(2, 3, DType::bf16, DType::f16), nullptr);
  EXPECT_EQ(cuda::make_transpose(2, 3, DType::u8, DType::u8), nullptr);
}

TEST(CudaTransposes, GoTogetherWithTheirLikeAlone) {
  auto wide = cuda::make_transpose(2, 3, DType::f32, DType::f32),
       narrow = cuda::make_transpose(2, 3, DType::f32, DType::bf16);
  EXPECT_EQ(cuda::together(std::vector{wide, narrow}), nullptr);
  EXPECT_NE(cuda::together(std::vector{narrow, narrow}), nullptr);
  EXPECT_EQ(cuda::together(std::vector<std::shared_ptr<Kernel>>{}), nullptr);
}

}  // namespace
}  // namespace belfry
