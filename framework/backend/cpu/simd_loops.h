#pragma once
// The inner loops of our own kernels. They are compiled once for each instruction set from the
// files in simd/; kernels take those of the best set that the machine has. Loops know nothing of
// threads: the kernels split the work.

#include <cstdint>
#include <span>
#include <string_view>

#include "belfry/framework/ops/update/update_functors.h"
#include "belfry/framework/tensor/dtype.h"

namespace belfry::cpu {

/// Loops for each type of the elements that they read and write. They compute in float.
template <template <class> class Loops>
struct ForTypes {
  Loops<float> f32;
  Loops<BFloat16> bf16;
  Loops<Float16> f16;

  template <class T>
  const Loops<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else if constexpr (std::is_same_v<T, BFloat16>)
      return bf16;
    else
      return f16;
  }
};

template <class T>
struct ConvertLoops {
  void (*load)(const T* x, float* y, std::int64_t n);
  void (*store)(const float* x, T* y, std::int64_t n);  ///< rounds to nearest, ties to even
};

/// An elementwise op on `n` floats, a multiple of 16; booleans are 0 or 1. `out` may be an operand.
/// Operands that the op does not have are null.
struct ElementwiseLoop {
  std::string_view name;  ///< the op's
  void (*run)(const float* a, const float* b, const float* c, float* out, std::int64_t n);
};

struct ElementwiseLoops {
  const ElementwiseLoop* ops;
  int count;
  void (*from_bytes)(const std::uint8_t* x, float* y, std::int64_t n);  ///< any n
  void (*to_booleans)(const float* x, std::uint8_t* y, std::int64_t n);

  /// The loop of this op, or null.
  const ElementwiseLoop* find(std::string_view op) const {
    for (int i = 0; i < count; ++i)
      if (ops[i].name == op) return &ops[i];
    return nullptr;
  }
};

/// Reductions of a matrix x [rows, c] over its rows. Sums accumulate in float over at most 64 rows,
/// beyond that in double.
template <class T>
struct ColumnLoops {
  void (*sum)(const T* x, std::int64_t rows, std::int64_t c, double* sums);
  void (*max)(const T* x, std::int64_t rows, std::int64_t c, T* out);  ///< NaN wins
  void (*min)(const T* x, std::int64_t rows, std::int64_t c, T* out);  ///< NaN wins
};

/// Through which elements of a normalised matrix a gradient passes: those where y > 0, y being
/// given or computed again as (x - mean) factor + offset; all of them if neither is set.
template <class T>
struct ReluMask {
  const T* y = nullptr;
  const float* offset = nullptr;
};

/// Batch normalisation of a matrix x [rows, c]. Vectors over channels have c elements.
template <class T>
struct BatchNormLoops {
  /// Means and sums of squared deviations from them, rows >= 1.
  void (*moments)(const T* x, std::int64_t rows, std::int64_t c, double* mean, double* squares);
  /// Takes the moments of b_rows more rows into those of a_rows (Chan, Golub, LeVeque 1979).
  void (*merge)(double* mean, double* squares, double a_rows, const double* b_mean,
                const double* b_squares, double b_rows, std::int64_t c);
  /// y = (x - mean) factor + offset + residual; then max(y, 0) if relu. residual may be null.
  void (*normalize)(const T* x, const T* residual, const float* mean, const float* factor,
                    const float* offset, bool relu, std::int64_t rows, std::int64_t c, T* y);
  /// With g = dy where the mask lets it pass, else 0: sums of g and of g (x - mean).
  void (*gradient_sums)(const T* dy, const T* x, ReluMask<T> mask, const float* mean,
                        const float* factor, std::int64_t rows, std::int64_t c, double* sums,
                        double* products);
  /// dx = factor g - slope (x - mean) - shift; dresidual = g unless null.
  void (*gradient)(const T* dy, const T* x, ReluMask<T> mask, const float* mean,
                   const float* factor, const float* slope, const float* shift, std::int64_t rows,
                   std::int64_t c, T* dx, T* dresidual);
};

/// Functions of one row of n floats.
template <class T>
struct RowLoops {
  double (*sum)(const T* x, std::int64_t n);
  float (*max)(const T* x, std::int64_t n);                    ///< NaN wins; -inf of none
  float (*min)(const T* x, std::int64_t n);                    ///< NaN wins; inf of none
  double (*exp_sum)(const T* x, float shift, std::int64_t n);  ///< sum of exp(x - shift)
  /// y = exp(x - shift) factor
  void (*scaled_exp)(const T* x, float shift, float factor, T* y, std::int64_t n);
  /// y = (exp(x - shift) - rest) factor
  void (*cross_entropy_gradient)(const T* x, float shift, float rest, float factor, T* y,
                                 std::int64_t n);
  void (*subtract)(const T* x, float shift, float rest, T* y,
                   std::int64_t n);                           ///< y = (x - shift) - rest
  double (*squares)(const T* x, float mean, std::int64_t n);  ///< sum of (x - mean)^2
  /// y = (x - mean) factor scale + offset
  void (*normalize)(const T* x, float mean, float factor, const float* scale, const float* offset,
                    T* y, std::int64_t n);
  /// Sums of dy scale, and of dy scale (x - mean).
  void (*normalize_sums)(const T* dy, const T* x, const float* scale, float mean, std::int64_t n,
                         double* sum, double* product);
  /// dx = factor dy scale - slope (x - mean) - shift
  void (*normalize_gradient)(const T* dy, const T* x, const float* scale, float mean, float factor,
                             float slope, float shift, T* dx, std::int64_t n);
  /// dscale += dy (x - mean) factor; doffset += dy
  void (*normalize_parameters)(const T* dy, const T* x, float mean, float factor, double* dscale,
                               double* doffset, std::int64_t n);
};

/// Pools of channels-last images: one pixel of the result from `count` taps, pointers to the pixels
/// of c channels that it is made of.
template <class T>
struct PoolLoops {
  /// The largest tap at each channel, NaN being the largest of all, and its place; the first wins.
  void (*max)(const T* const* taps, const std::uint8_t* numbers, int count, std::int64_t c, T* y,
              std::uint8_t* index);
  /// dx = sum over taps of dy where the tap's index is its place.
  void (*max_gradient)(const T* const* dy, const std::uint8_t* const* index,
                       const std::uint8_t* numbers, int count, std::int64_t c, T* dx);
  /// y = sum over taps of tap * weight.
  void (*weighted_sum)(const T* const* taps, const float* weights, int count, std::int64_t c, T* y);
};

/// A rule of update_functors.h on n elements of a variable, its gradient and its slots.
template <class Rule>
using UpdateLoop = void (*)(const Rule& rule, float* variable, const float* gradient,
                            float* const* slots, std::int64_t n);

struct UpdateLoops {
  UpdateLoop<update::Sgd<float>> sgd;
  UpdateLoop<update::Momentum<float>> momentum;
  UpdateLoop<update::Adam<float>> adam;
  UpdateLoop<update::Rmsprop<float>> rmsprop;
  UpdateLoop<update::Adagrad<float>> adagrad;
  UpdateLoop<update::Ftrl<float>> ftrl;
  /// Updates both slots; adds to the sums of squares of variable and direction.
  void (*lamb_moments)(const update::Lamb<float>& rule, const float* variable,
                       const float* gradient, float* const* slots, std::int64_t n,
                       double* variable_squares, double* direction_squares);
  /// variable -= step * direction
  void (*lamb_step)(const update::Lamb<float>& rule, float step, float* variable,
                    float* const* slots, std::int64_t n);
};

/// A block of a slot in eight bits: the scale, then n codes, n <= state_block. Element i has the
/// lower 16 bits of words[i] >> shift.
struct EightBitLoops {
  void (*load)(const std::uint8_t* block, float* x, std::int64_t n);
  void (*store)(const float* x, const std::uint32_t* words, int shift, std::uint8_t* block,
                std::int64_t n);
};

/// Slots of an update that are kept in fewer bits (framework/ops/update/update_state.h).
struct SlotLoops {
  /// The words of elements `first`, a multiple of 64, to first + state_block - 1 of a group.
  void (*draw)(std::uint64_t key, std::uint32_t group, std::uint64_t step, std::int64_t first,
               std::uint32_t* words);
  void (*store_bf16)(const float* x, const std::uint32_t* words, int shift, BFloat16* y,
                     std::int64_t n);
  EightBitLoops eight_bits[2];  ///< without and with a sign
};

/// Random numbers of one row, as framework/ops/random/draw.h lays them out.
template <class T>
struct RandomLoops {
  /// y = uniform number >= rate ? x * scale : 0, for the row's elements from `first`, a multiple of
  /// 4; x, y and n are those of this piece.
  void (*dropout)(std::uint64_t key, std::uint32_t row, std::uint64_t step, std::int64_t first,
                  float rate, float scale, const T* x, T* y, std::int64_t n);
};

/// The CTC loss, a frame at a time: its recursions over the states of a row (CtcLattice says what
/// those are) in log space. `n` is a multiple of 16; two more values, -inf, lie in front of
/// `before`, and behind `after` and `skip`. skip is 0 for states that a path may come to from the
/// last but one, -inf for others; logits are those of the states' symbols.
struct CtcLoops {
  /// Log alpha of a frame from that of the frame before.
  void (*forward)(const double* before, const double* skip, const float* logits, double log_sum,
                  double* alpha, std::int64_t n);
  /// Log beta of a frame, the frame itself included, from that of the frame after, and the
  /// probability that a path of the labels, whose log probability is `total`, is in each state.
  /// Returns the sum over even states, the blanks.
  float (*backward)(const double* after, const double* skip, const float* logits, double log_sum,
                    const double* alpha, double total, double* beta, float* occupied,
                    std::int64_t n);
  /// y = exp(x - log_sum) factor for any n
  void (*softmax)(const float* x, double log_sum, float factor, float* y, std::int64_t n);
};

/// The units of a row in a step of a recurrent layer, by a cell of ops/recurrent/cells.h: gates and
/// what is kept lie one behind the other, n values each. Cells without c do not look at it.
struct RecurrentLoops {
  /// h and c become those after the step; q is the product of h with the kernel.
  void (*forward)(const float* z, const float* q, const float* bias, std::int64_t n, float* h,
                  float* c, float* kept);
  /// dh and dc, the gradients of what the step leaves but for dy, become those of what it found, as
  /// far as they do not come through q.
  void (*backward)(const float* kept, const float* y, const float* h_before, const float* c_before,
                   const float* dy, std::int64_t n, float* dh, float* dc, float* dz, float* dq);
};

/// Attention, a tile of n keys at a time, n a multiple of 16, for one query where nothing else is
/// said. Scores of keys that do not count are minus infinity.
struct AttentionLoops {
  /// Scores x [rows, n] become weights exp(x - highest), where highest [rows] are the largest
  /// scores so far: they and the sums of weights [rows] go on from the tiles before. What was
  /// made with the weights of those must be multiplied with `corrections` [rows]. A NaN shows in
  /// its row's sum.
  void (*weights)(float* x, std::int64_t rows, std::int64_t n, float* highest, float* sums,
                  float* corrections);
  void (*scale_and_add)(float* y, const float* x, float factor,
                        std::int64_t n);  ///< y = y factor + x
  /// With the weight w = exp(x - log_sum): writes w kept and w (kept products - shift), of element
  /// i to panels[i / 16 * stride + i % 16], the latter also to a row.
  void (*slopes)(const float* x, float log_sum, const float* products, float shift,
                 const float* kept, std::int64_t n, std::int64_t stride, float* weight_panels,
                 float* slope_panels, float* slope_row);
};

/// Winograd's convolution by a window of r x s taps: m x n results of it from a tile of
/// (m + r - 1) x (n + s - 1) pixels, by as many products for each pair of channels (Lavin & Gray
/// 2015, section 4). Channels go in groups of this many.
inline constexpr std::int64_t winograd_channels = 16;

/// Where a tile lies: its first pixel, perhaps outside, in an image of so many rows and columns.
/// Its others follow in steps. Pixels outside count as 0.
struct WinogradTile {
  std::int64_t row, column, rows, columns, step = 1;
};

/// One matrix for each point of the transformed tile. Element (row, j) of matrix i is at
/// data[i * stride + j / 16 * panel + row * (width of a row in its panel) + j % 16]; functions for
/// one row are given `data` at that row.
struct WinogradMatrix {
  float* data;
  std::int64_t stride, panel;
};

/// The taps of a kernel [rows, columns, c, k] that a tile is convolved with: from the tap (row,
/// column) on in steps. Those outside the window count as 0.
struct WinogradTaps {
  std::int64_t row, column, rows, columns, step = 1;
};

/// The transforms for one window, of images and kernels of type T. Matrices are f32.
template <class T>
struct WinogradTransforms {
  int points;         ///< of a tile
  int rows, columns;  ///< of its results
  /// v = B' x B for the pixels that a tile reads, of c channels, from the tile's first.
  void (*input)(const T* x, const WinogradTile& tile, std::int64_t c, const WinogradMatrix& v);
  /// m = A dy A' for the rows x columns pixels of k channels from the tile's first.
  void (*output_gradient)(const T* dy, const WinogradTile& tile, std::int64_t k,
                          const WinogradMatrix& m);
  /// The rows x columns pixels from the tile's first, which is inside, = A' m A + bias, those
  /// outside left out; then max(y, 0) if relu. bias may be null.
  void (*output)(const WinogradMatrix& m, const T* bias, bool relu, const WinogradTile& tile,
                 std::int64_t k, T* y);
  /// u [c, k] = G g G' for the taps g [rows, columns, c, k], row `row` of it.
  void (*kernel)(const T* g, const WinogradTaps& taps, std::int64_t c, std::int64_t k,
                 std::int64_t row, const WinogradMatrix& u);
  /// u [k, c] of the taps turned by half a circle, its columns [first, first + 16).
  void (*turned_kernel)(const T* g, const WinogradTaps& taps, std::int64_t c, std::int64_t k,
                        std::int64_t first, const WinogradMatrix& u);
  /// The taps of dg [rows, columns, c, k] = G' u G, of row `row` of u [c, k] (whose rows lie one
  /// behind the other); other taps stay as they are.
  void (*kernel_gradient)(const WinogradMatrix& u, const WinogradTaps& taps, std::int64_t c,
                          std::int64_t k, std::int64_t row, T* dg);
};

template <class T>
struct WinogradTables {
  WinogradTransforms<T> squares[4];  ///< of 2x2 to 5x5 taps
  WinogradTransforms<T> lines[3];    ///< of 1x3 to 1x5 taps
};

/// Factors of one product: a [rows, c], u [c, k] in panels of 16 columns, [k / 16, c, 16].
struct WinogradFactors {
  const float *a, *u;
};

struct WinogradLoops {
  ForTypes<WinogradTables> transforms;
  /// m [rows, k] = sum of a u over `count` pairs of factors.
  void (*products)(const WinogradFactors* factors, int count, std::int64_t rows, std::int64_t c,
                   std::int64_t k, float* m);
  /// sum [c, k] += a' b, or = a' b if `write`, with a [rows, c] and b [rows, k], both in panels of
  /// 16 columns.
  void (*add_products)(const float* a, const float* b, bool write, std::int64_t rows,
                       std::int64_t c, std::int64_t k, float* sum);

  static constexpr bool has(std::int64_t row_taps, std::int64_t column_taps) {
    bool square = row_taps == column_taps && row_taps >= 2,
         line = row_taps == 1 && column_taps >= 3;
    return (square || line) && column_taps <= 5;
  }
  template <class T>
  const WinogradTransforms<T>& of(std::int64_t row_taps, std::int64_t column_taps) const {
    const WinogradTables<T>& tables = transforms.of<T>();
    return row_taps == 1 ? tables.lines[column_taps - 3] : tables.squares[column_taps - 2];
  }
};

/// All loops for one instruction set.
struct SimdLoops {
  std::string_view isa;  ///< "x86-64-v4", "baseline"
  const ForTypes<ConvertLoops>& convert;
  const ElementwiseLoops& elementwise;
  const ForTypes<ColumnLoops>& columns;
  const ForTypes<BatchNormLoops>& batch_norm;
  const ForTypes<RowLoops>& rows;
  const ForTypes<PoolLoops>& pools;
  const UpdateLoops& updates;
  const SlotLoops& slots;
  const ForTypes<RandomLoops>& random;
  const CtcLoops& ctc;
  const AttentionLoops& attention;
  const RecurrentLoops* recurrent;  ///< by RecurrentCell
  const WinogradLoops& winograd;
};

/// The loops compiled in that this machine can run, best first.
std::span<const SimdLoops* const> simd_choices();

/// The loops for kernels made from now on: the best, unless use_simd() chose others.
const SimdLoops& simd();
void use_simd(const SimdLoops& loops);  ///< for tests

}  // namespace belfry::cpu
