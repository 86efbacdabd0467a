// Ops that move elements from places at regular distances to places at regular distances: slice,
// transpose, and pad, which fills its output first.

#include <algorithm>
#include <cstring>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/number.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::cpu {
namespace {

struct Axis {
  std::int64_t size = 1, from = 1, to = 1;  // distances between neighbours, in elements
};

/// A box of elements: where they are and where they go. When `crossed`, neighbours in the source
/// lie along another axis than the last one, `along`; otherwise that has size 1. A piece is what
/// one thread takes at least: some rows (places along `along`) and columns (places along `last`) at
/// one place of the other axes.
struct Move {
  std::vector<Axis> outer;
  Axis along, last;
  bool crossed = false;
  std::int64_t from = 0, to = 0;  // of the first element

  Move(const Shape& shape, const Strides& from_strides, const Strides& to_strides) {
    for (int i = 0; i < shape.rank(); ++i) {
      std::size_t a = i;
      if (shape[i] != 1) append({shape[i], from_strides[a], to_strides[a]});
    }
    if (outer.empty()) return;
    last = outer.back();
    outer.pop_back();
    if (last.from == 1) return;
    auto inner =
        std::find_if(outer.begin(), outer.end(), [](const Axis& a) { return a.from == 1; });
    crossed = inner != outer.end();
    if (crossed) along = *inner, outer.erase(inner);
  }

  static constexpr std::int64_t rows = 256;  // of one piece, as columns()
  std::int64_t columns() const { return crossed ? 64 : 4096; }
  std::int64_t pieces_across() const { return (last.size + columns() - 1) / columns(); }
  std::int64_t pieces_of_plane() const {
    return pieces_across() * ((along.size + rows - 1) / rows);
  }
  std::int64_t elements_of_piece() const {
    return std::min(rows, along.size) * std::min(columns(), last.size);
  }
  std::int64_t pieces() const {
    std::int64_t count = pieces_of_plane();
    for (const Axis& axis : outer) count *= axis.size;
    return count;
  }

 private:
  // Neighbouring axes that are one in source and target become one.
  void append(Axis axis) {
    if (!outer.empty() && outer.back().from == axis.from * axis.size
        && outer.back().to == axis.to * axis.size) {
      axis.size *= outer.back().size;
      outer.pop_back();
    }
    outer.push_back(axis);
  }
};

/// Goes through the pieces of a move.
class Pieces {
 public:
  Pieces(const Move& move, std::int64_t first)
      : move_(move), in_plane_(first % move.pieces_of_plane()), from_(move.from), to_(move.to) {
    std::int64_t rest = first / move.pieces_of_plane();
    for (std::size_t a = move.outer.size(); a-- > 0;) {
      const Axis& axis = move.outer[a];
      index_[a] = rest % axis.size;
      rest /= axis.size;
      from_ += index_[a] * axis.from;
      to_ += index_[a] * axis.to;
    }
  }

  std::int64_t rows() const { return std::min(Move::rows, move_.along.size - first_row()); }
  std::int64_t columns() const {
    return std::min(move_.columns(), move_.last.size - first_column());
  }
  std::int64_t from() const {
    return from_ + first_row() * move_.along.from + first_column() * move_.last.from;
  }
  std::int64_t to() const {
    return to_ + first_row() * move_.along.to + first_column() * move_.last.to;
  }

  void advance() {
    if (++in_plane_ < move_.pieces_of_plane()) return;
    in_plane_ = 0;
    for (std::size_t a = move_.outer.size(); a-- > 0;) {
      const Axis& axis = move_.outer[a];
      from_ += axis.from;
      to_ += axis.to;
      if (++index_[a] < axis.size) return;
      index_[a] = 0;
      from_ -= axis.from * axis.size;
      to_ -= axis.to * axis.size;
    }
  }

 private:
  std::int64_t first_row() const { return in_plane_ / move_.pieces_across() * Move::rows; }
  std::int64_t first_column() const { return in_plane_ % move_.pieces_across() * move_.columns(); }

  const Move& move_;
  std::int64_t in_plane_;
  std::array<std::int64_t, Shape::max_rank> index_{};
  std::int64_t from_, to_;
};

template <class T>
void copy_line(const T* x, std::int64_t from, T* y, std::int64_t to, std::int64_t n) {
  if (from == 1 && to == 1) {
    std::memcpy(y, x, n * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * to] = x[i * from];
  }
}

// In squares, so that the lines of the source stay in the cache until they are used up.
template <class T>
void copy_crossed(const Move& move, const T* x, T* y, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t side = 16;
  const Axis &along = move.along, &last = move.last;
  for (std::int64_t i = 0; i < rows; i += side)
    for (std::int64_t j = 0; j < columns; j += side)
      for (std::int64_t r = i; r < std::min(i + side, rows); ++r)
        copy_line(x + r + j * last.from, last.from, y + r * along.to + j * last.to, last.to,
                  std::min(side, columns - j));
}

template <class T>
class MoveKernel final : public Kernel {
 public:
  /// Where nothing is moved to stays `fill`, if there is one.
  MoveKernel(Move move, std::int64_t elements, const double* fill, int threads)
      : move_(std::move(move)), elements_(elements), filled_(fill != nullptr), threads_(threads) {
    if (fill) fill_ = static_cast<T>(static_cast<compute_type<T>>(*fill));
  }

  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    T* y = a.output<T>(0);
    if (filled_)
      parallel_for(
          elements_, elements_worth_sharing, threads_,
          [&](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, fill_); });
    const T* x = a.input<T>(0);
    parallel_for(move_.pieces(), rows_worth_sharing(move_.elements_of_piece()), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   Pieces at(move_, begin);
                   for (std::int64_t piece = begin; piece < end; ++piece, at.advance()) {
                     if (move_.crossed)
                       copy_crossed(move_, x + at.from(), y + at.to(), at.rows(), at.columns());
                     else
                       copy_line(x + at.from(), move_.last.from, y + at.to(), move_.last.to,
                                 at.columns());
                   }
                 });
  }

 private:
  Move move_;
  std::int64_t elements_;
  T fill_{};
  bool filled_;
  int threads_;
};

std::unique_ptr<Kernel> make(const Node& node, const Move& move, const double* fill, int threads) {
  return dispatch(node.output().dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<MoveKernel<decltype(t)>>(move, node.output().shape.elements(), fill,
                                                     threads);
  });
}

std::unique_ptr<Kernel> make_slice(const Node& node, int threads) {
  const auto& o = node.as<SliceOptions>();
  Strides x = row_major(node.input(0).shape()), steps{};
  std::int64_t start = 0;
  for (std::size_t i = 0; i < o.begin.size(); ++i) {
    start += o.begin[i] * x[i];
    steps[i] = o.strides[i] * x[i];
  }
  Move move(node.output().shape, steps, row_major(node.output().shape));
  move.from = start;
  return make(node, move, nullptr, threads);
}

std::unique_ptr<Kernel> make_pad(const Node& node, int threads) {
  const auto& o = node.as<PadOptions>();
  Strides y = row_major(node.output().shape);
  const Shape& x = node.input(0).shape();
  Move move(x, row_major(x), y);
  for (std::size_t i = 0; i < o.before.size(); ++i) move.to += o.before[i] * y[i];
  return make(node, move, &o.value, threads);
}

std::unique_ptr<Kernel> make_transpose(const Node& node, int threads) {
  const auto& permutation = node.as<TransposeOptions>().permutation;
  Strides x = row_major(node.input(0).shape()), from{};
  for (std::size_t i = 0; i < permutation.size(); ++i) from[i] = x[permutation[i]];
  return make(node, Move(node.output().shape, from, row_major(node.output().shape)), nullptr,
              threads);
}

const KernelRegistration slice_registration(slice_op, make_slice),
    pad_registration(pad_op, make_pad), transpose_registration(transpose_op, make_transpose);

}  // namespace
}  // namespace belfry::cpu
