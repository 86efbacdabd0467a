// Matrices transposed and cast: square tiles go through shared memory, so that both sides are
// accessed along rows.

#include <algorithm>
#include <vector>

#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/kernels/movement/transposes.h"
#include "belfry/framework/backend/cuda/launch.h"
#include "belfry/framework/backend/cuda/together.h"

namespace belfry::cuda {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

constexpr int edge = 32, threads = 256;
constexpr int lines = threads / edge, each = edge / lines;

/// The matrices of one launch, passed by value.
struct Matrices {
  static constexpr int most = 256;
  const void* from[most];
  void* to[most];
  unsigned rows[most], columns[most];
  unsigned first_block[most];  // of each; rising
  int count = 0;
  unsigned blocks = 0;
};

template <class From, class To>
__global__ void transpose_matrices(Matrices matrices) {
  __shared__ compute_type<To> tile[edge][edge + 1];  // columns lie in different banks, too
  int number = 0;
  for (int step = Matrices::most / 2; step > 0; step /= 2)
    if (number + step < matrices.count && matrices.first_block[number + step] <= blockIdx.x)
      number += step;
  const auto* from = static_cast<const From*>(matrices.from[number]);
  auto* to = static_cast<To*>(matrices.to[number]);
  std::int64_t rows = matrices.rows[number], columns = matrices.columns[number];
  std::int64_t block = blockIdx.x - matrices.first_block[number];
  std::int64_t across = (columns + edge - 1) / edge;
  std::int64_t first_row = block / across * edge, first_column = block % across * edge;
  int lane = static_cast<int>(threadIdx.x) % edge, line = static_cast<int>(threadIdx.x) / edge;
  compute_type<To> values[each]{};  // all are on their way at once
  for (int k = 0; k < each; ++k) {
    std::int64_t row = first_row + line + k * lines, column = first_column + lane;
    if (row < rows && column < columns) values[k] = load(from + row * columns + column);
  }
  for (int k = 0; k < each; ++k) tile[line + k * lines][lane] = values[k];
  __syncthreads();
  for (int k = 0; k < each; ++k) {
    std::int64_t row = first_row + lane, column = first_column + line + k * lines;
    if (row < rows && column < columns)
      store(to + column * rows + row, tile[lane][line + k * lines]);
  }
}

class Transposes final : public Kernel {
 public:
  Transposes(std::vector<Matrix> matrices, DType from, DType to)
      : matrices_(std::move(matrices)), from_(from), to_(to) {}

  std::string_view implementation() const override { return "cuda"; }
  void run(const KernelArguments& a, Stream& stream) override {
    if (from_ == DType::f32 && to_ == DType::bf16) return enqueue<float, BFloat16>(a, stream);
    if (from_ == DType::f32 && to_ == DType::f16) return enqueue<float, Float16>(a, stream);
    if (from_ == DType::bf16 && to_ == DType::f32) return enqueue<BFloat16, float>(a, stream);
    if (from_ == DType::f16 && to_ == DType::f32) return enqueue<Float16, float>(a, stream);
    switch (size_of(from_)) {
      case 2:
        return enqueue<std::uint16_t, std::uint16_t>(a, stream);
      case 4:
        return enqueue<std::uint32_t, std::uint32_t>(a, stream);
      default:
        return enqueue<std::uint64_t, std::uint64_t>(a, stream);
    }
  }

  bool goes_with(const Transposes& other) const { return from_ == other.from_ && to_ == other.to_; }
  const std::vector<Matrix>& matrices() const { return matrices_; }
  DType from() const { return from_; }
  DType to() const { return to_; }

 private:
  template <class From, class To>
  void enqueue(const KernelArguments& a, Stream& stream) const {
    Matrices batch;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const Matrix& m = matrices_[i];
      int at = batch.count++;
      batch.from[at] = a.inputs[i];
      batch.to[at] = a.outputs[i];
      batch.rows[at] = static_cast<unsigned>(m.rows);
      batch.columns[at] = static_cast<unsigned>(m.columns);
      batch.first_block[at] = batch.blocks;
      batch.blocks +=
          static_cast<unsigned>((m.rows + edge - 1) / edge * ((m.columns + edge - 1) / edge));
      if (batch.count < Matrices::most && i + 1 < matrices_.size()) continue;
      launch(stream, {.blocks = batch.blocks, .threads = threads}, transpose_matrices<From, To>,
             batch);
      batch = {};
    }
  }

  std::vector<Matrix> matrices_;
  DType from_, to_;
};

// Transposes of one pair of types.
std::shared_ptr<Kernel> transposes_together(std::span<const std::shared_ptr<Kernel>> kernels) {
  std::vector<Matrix> all;
  const Transposes* first = nullptr;
  for (const std::shared_ptr<Kernel>& kernel : kernels) {
    const auto* one = dynamic_cast<const Transposes*>(kernel.get());
    if (!one || (first && !one->goes_with(*first))) return nullptr;
    first = one;
    all.insert(all.end(), one->matrices().begin(), one->matrices().end());
  }
  if (!first) return nullptr;
  return std::make_shared<Transposes>(std::move(all), first->from(), first->to());
}

const TogetherRegistration registration(transposes_together);

bool is_16_bits(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

}  // namespace

std::shared_ptr<Kernel> make_transpose(std::int64_t rows, std::int64_t columns, DType from,
                                       DType to) {
  bool casts = (from == DType::f32 && is_16_bits(to)) || (is_16_bits(from) && to == DType::f32);
  if (!casts && (from != to || size_of(from) < 2)) return nullptr;
  return std::make_shared<Transposes>(std::vector<Matrix>{{rows, columns}}, from, to);
}

}  // namespace belfry::cuda
