#pragma once
// Self-attention within the windows of an image (Liu et al., "Swin Transformer: Hierarchical vision
// transformer using shifted windows", ICCV 2021).

#include <cstdint>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of window_attention().
struct WindowAttentionOptions {
  std::int64_t heads;   ///< required; must divide the channels
  std::int64_t window;  ///< pixels a side; required; must divide height and width
  /// Pixels, from 0 to window - 1, by which the windows are moved down and to the right. Those that
  /// stand out of the image take in what they miss from its other side, but pixels that are no
  /// neighbours do not attend to each other (their figure 4).
  std::int64_t shift = 0;
};

/// Multi-head self-attention of each window's pixels, x [n, h, w, c] -> as x (their equation 4):
/// softmax(q k^T / sqrt(c / heads) + b) v, then a dense layer. b is a variable for each head and
/// each difference of rows and columns, bias_table [(2 window - 1)^2, heads], row by row from
/// -(window - 1) on; the other variables are those of multi_head_attention(). Error: heads or
/// window that do not divide, a shift outside its range.
Tensor window_attention(const Scope& s, Tensor x, const WindowAttentionOptions& options);

/// The image moved in a circle: row r of the result is row (r + shift) % h of x, and columns alike;
/// shift from -h to h, and -w to w.
Tensor roll(Tensor x, std::int64_t shift);

}  // namespace belfry::models
