#include "belfry/framework/backend/cpu/onednn/onednn_epilogue.h"

#include "belfry/framework/backend/cpu/parallel.h"

namespace belfry::cpu {
namespace {

constexpr std::int64_t grain = 4096;  // elements that one thread takes at least

void relu(float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

// On the bits: negative numbers down to minus infinity are 0x8000..0xff80, NaNs lie above.
void relu(std::uint16_t* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] >= 0x8000 && y[i] <= 0xff80 ? 0 : y[i];
}

template <class T>
void parallel_relu(void* y, std::int64_t count, int threads) {
  parallel_for(count, grain, threads, [=](std::int64_t begin, std::int64_t end) {
    relu(static_cast<T*>(y) + begin, end - begin);
  });
}

}  // namespace

void relu_in_place(void* y, DType dtype, std::int64_t count, int threads) {
  ensure(dtype == DType::f32 || dtype == DType::bf16, "relu_in_place: ", dtype);
  if (dtype == DType::f32)
    parallel_relu<float>(y, count, threads);
  else
    parallel_relu<std::uint16_t>(y, count, threads);
}

void add_bias_in_place(float* y, const float* bias, bool with_relu, std::int64_t rows,
                       std::int64_t columns, int threads) {
  std::int64_t rows_at_least = (grain + columns - 1) / columns;
  parallel_for(rows, rows_at_least, threads, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* line = y + row * columns;
      if (bias)
        for (std::int64_t i = 0; i < columns; ++i) line[i] += bias[i];
      if (with_relu) relu(line, columns);
    }
  });
}

}  // namespace belfry::cpu
