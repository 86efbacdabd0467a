#pragma once
// Matrices in panels of 16 columns, as the loop of matrix products in simd/ reads them.

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_loops.h"

namespace belfry::cpu {

/// A matrix [rows, columns], or if `transposed` the transpose of one [columns, rows], in panels of
/// 16 columns [columns / 16, rows, 16] of floats, the last of them filled up with zeros.
template <class T>
class PanelsKernel final : public Kernel {
 public:
  PanelsKernel(std::int64_t rows, std::int64_t columns, bool transposed)
      : rows_(rows), columns_(columns), transposed_(transposed) {}

  /// Columns with those that fill the last panel up.
  std::int64_t width() const { return ceil_div(columns_, winograd_channels) * winograd_channels; }
  Bytes size() const { return Bytes(width() * rows_ * std::int64_t{sizeof(float)}); }
  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* x = a.input<T>(0);
    auto* panels = a.output<float>(0);
    std::int64_t of_row = transposed_ ? 1 : columns_, of_column = transposed_ ? rows_ : 1;
    for (std::int64_t j = 0; j < width(); ++j)
      for (std::int64_t i = 0; i < rows_; ++i)
        panels[(j / winograd_channels * rows_ + i) * winograd_channels + j % winograd_channels] =
            j < columns_ ? static_cast<float>(x[i * of_row + j * of_column]) : 0;
  }

 private:
  std::int64_t rows_, columns_;
  bool transposed_;
};

}  // namespace belfry::cpu
