#pragma once
// The directions of a convolution as tiles of Winograd's method. A stride of s splits the window
// into s x s phases: phase (p, q) has every s-th tap from (p, q) on, reads every s-th pixel, and
// moves by one of these. A convolution adds what its phases give; in the gradient with respect to
// the input each phase makes every s-th pixel.

#include <optional>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"

namespace belfry::cpu {

/// Pixel `first + i * step` of `size`, perhaps outside, stands for number i.
struct PixelSteps {
  std::int64_t size = 0, first = 0, step = 1;
};

/// Results along an axis: where the windows that they are made of begin, in the first phase, and
/// where they are written.
struct WinogradAxis {
  std::int64_t results = 0;
  PixelSteps read = {}, written = {};
};

/// Tiles of results on the planes of all images.
class WinogradTiles {
 public:
  WinogradTiles(std::int64_t batch, const WinogradAxis& rows, const WinogradAxis& columns,
                std::int64_t tile_rows, std::int64_t tile_columns);

  std::int64_t count() const { return batch_ * down_ * across_; }
  std::int64_t results() const { return batch_ * rows_.results * columns_.results; }
  std::int64_t image(std::int64_t tile) const { return tile / (down_ * across_); }
  WinogradTile read(std::int64_t tile, std::int64_t row_phase, std::int64_t column_phase) const;
  WinogradTile written(std::int64_t tile) const;
  /// Pixels of a plane.
  std::int64_t pixels_read() const { return rows_.read.size * columns_.read.size; }
  std::int64_t pixels_written() const { return rows_.written.size * columns_.written.size; }

 private:
  std::int64_t row(std::int64_t tile) const { return tile / across_ % down_ * tile_rows_; }
  std::int64_t column(std::int64_t tile) const { return tile % across_ * tile_columns_; }

  WinogradAxis rows_, columns_;
  std::int64_t batch_, tile_rows_, tile_columns_, down_, across_;
};

/// The method reads depth.in planes of `in` channels and writes depth.out planes of `out` channels.
struct WinogradGeometry {
  std::int64_t in = 0, out = 0;
  WindowAxis depth = {};
  std::int64_t row_taps = 0, column_taps = 0;  ///< of a phase
  std::int64_t stride = 0;                     ///< how many phases there are along an axis
  std::vector<WinogradTiles> grids = {};       ///< one, or one for each phase

  std::int64_t phases() const { return stride * stride; }
  /// Phases that each result of a grid adds; they are 0, 1, ... or the grid's own.
  std::int64_t reads() const { return phases() / std::ssize(grids); }
  /// The most tiles of a grid.
  std::int64_t tiles() const;

  /// The planes that the window at `z` reads.
  std::int64_t first_plane(std::int64_t z) const;
  std::int64_t end_plane(std::int64_t z) const;
};

enum class WinogradDirection : std::uint8_t { forward, grad_input, grad_kernel };

/// The geometry of a convolution or of one of its gradients. Nothing where the method does not
/// apply or is slower than the direct one, and where the options ask for exact convolutions.
std::optional<WinogradGeometry> winograd_geometry(const Node& node, WinogradDirection direction,
                                                  const KernelOptions& options,
                                                  bool bf16_instructions = multiplies_bf16());

/// The taps of a phase; (p, q) is number p * stride + q.
WinogradTaps winograd_taps(const ConvGeometry& g, std::int64_t phase);

/// One matrix [rows, columns] for each point of a tile, in floats.
class WinogradMatrices {
 public:
  WinogradMatrices(std::int64_t points, std::int64_t elements)
      : points_(points), elements_(elements) {}

  /// The distance of a matrix from the next. Beginnings a power of two apart would share a few sets
  /// of the cache.
  std::int64_t stride() const { return elements_ + floats_of_a_line; }
  std::int64_t floats() const { return points_ * stride(); }

 private:
  static constexpr std::int64_t floats_of_a_line = 16;
  std::int64_t points_, elements_;
};

/// As many blocks as there are threads, or a multiple; at most about `most` tiles each.
std::int64_t tiles_of_block(std::int64_t tiles, std::int64_t most, int threads);

}  // namespace belfry::cpu
