#pragma once
// Elements moved as they are between places at regular distances, as many at once as lie together.
// Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/kernels/layout.h"

namespace belfry::cuda {

using Word16 = Pack<std::uint32_t, 4>;

/// Calls f(Word{}) with a type of 1, 2, 4, 8 or 16 bytes, for moving any elements of that size.
template <class F>
decltype(auto) dispatch_word(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Word16{});
  }
}

/// Where the elements of a copy lie: the first, and the distances between neighbours.
struct Walk {
  Strides strides = {};
  std::int64_t first = 0;
};

/// The arguments of copy_strided(); counted in words, which are one or several elements.
struct StridedCopy {
  Layout<2> layout;                   ///< from, to
  std::int64_t first[2] = {};         ///< from, to
  std::int64_t words = 0;             ///< of `to`
  std::int64_t element = 1;           ///< bytes
  std::int64_t elements_in_word = 1;  ///< a power of 2
  bool repeats = false;               ///< all elements of a word are one of `from`
};

/// The copy of an array of `shape` with elements of so many bytes.
inline StridedCopy strided_copy(const Shape& shape, std::size_t element, const Walk& from,
                                const Walk& to) {
  StridedCopy c{.layout = make_layout<2>(shape, {from.strides, to.strides}),
                .first = {from.first, to.first},
                .words = shape.elements(),
                .element = static_cast<std::int64_t>(element)};
  Layout<2>& layout = c.layout;
  int last = layout.rank - 1;
  if (last < 0 || layout.strides[1][last] != 1 || layout.strides[0][last] > 1) return c;
  c.repeats = layout.strides[0][last] == 0;
  auto divide = [&](std::int64_t by) {  // what is counted in words, if it can be
    for (bool check : {true, false}) {
      auto each = [&](std::int64_t& x) { return check ? x % by == 0 : (x /= by, true); };
      bool whole = each(layout.sizes[last]);
      for (int n = c.repeats ? 1 : 0; n < 2; ++n) {
        whole = whole && each(c.first[n]);
        for (int axis = 0; axis < last; ++axis) whole = whole && each(layout.strides[n][axis]);
      }
      if (!whole) return false;
    }
    c.words /= by;
    c.elements_in_word *= by;
    return true;
  };
  if (c.repeats) {
    c.repeats = divide(16 / c.element);
  } else {
    while (c.elements_in_word * c.element < 16 && divide(2)) {
    }
  }
  return c;
}

template <class From, class To>
__global__ void copy_strided(const From* from, To* to, Layout<2> layout, std::int64_t words) {
  std::int64_t i = thread_number();
  if (i >= words) return;
  std::int64_t at[2];
  layout.offsets(i, at);
  if constexpr (std::is_same_v<From, To>) {
    to[at[1]] = from[at[0]];
  } else {
    From x = from[at[0]];
    To word;
    for (From& each : word.values) each = x;
    to[at[1]] = word;
  }
}

/// Enqueues the copy.
inline void run(const StridedCopy& c, const void* from, void* to, Stream& stream) {
  auto enqueue = [&](auto from_word, auto to_word) {
    using From = decltype(from_word);
    using To = decltype(to_word);
    launch(stream, threads_for(c.words), copy_strided<From, To>,
           static_cast<const From*>(from) + c.first[0], static_cast<To*>(to) + c.first[1], c.layout,
           c.words);
  };
  if (c.repeats) {
    dispatch_word(c.element, [&](auto x) {
      if constexpr (sizeof(x) < 16) enqueue(x, Pack<decltype(x), 16 / sizeof(x)>{});
    });
  } else {
    dispatch_word(c.element * c.elements_in_word, [&](auto x) { enqueue(x, x); });
  }
}

}  // namespace belfry::cuda
