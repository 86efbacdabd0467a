#pragma once
// The common parts of the kernels of attention: tiles of queries by keys, whose scores fit into a
// core's first cache, and operands in the panels that the loop of matrix products reads.

#include <algorithm>
#include <limits>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/attention/dot_product_attention.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::cpu {

inline constexpr std::int64_t queries_at_once = 48, keys_at_once = 64;

inline std::int64_t whole_panels(std::int64_t columns) {
  return ceil_div(columns, winograd_channels) * winograd_channels;
}

/// Vectors of `width` floats in memory, `stride` floats apart.
struct Vectors {
  const float* first;
  std::int64_t count, width, stride;
};

/// As a matrix [width, columns], columns >= count, in panels of 16 vectors, filled up with zeros.
inline void pack_as_columns(const Vectors& x, std::int64_t columns, float* panels) {
  for (std::int64_t j = 0; j < whole_panels(columns); ++j) {
    float* to =
        panels + j / winograd_channels * x.width * winograd_channels + j % winograd_channels;
    const float* from = x.first + j * x.stride;
    for (std::int64_t i = 0; i < x.width; ++i)
      to[i * winograd_channels] = j < x.count ? from[i] : 0.0f;
  }
}

/// As a matrix [rows, width], rows >= count, in panels of 16 columns, filled up with zeros.
inline void pack_as_rows(const Vectors& x, std::int64_t rows, float* panels) {
  for (std::int64_t first = 0; first < x.width; first += winograd_channels)
    for (std::int64_t i = 0; i < rows; ++i, panels += winograd_channels) {
      std::int64_t there = i < x.count ? std::min(winograd_channels, x.width - first) : 0;
      const float* from = x.first + i * x.stride + first;
      if (there == winograd_channels) {
        std::copy_n(from, winograd_channels, panels);  // the usual case, of a size known here
      } else {
        if (there > 0) std::copy_n(from, there, panels);
        std::fill(panels + there, panels + winograd_channels, 0.0f);
      }
    }
}

/// Sizes, loops and the operands behind the `first` ones, for both kernels.
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Node& node, int first, int threads)
      : options_(node.as<DotProductAttentionNodeOptions>()),
        at_(options_, first),
        sizes_(node.input(0).shape(), node.input(2).shape(), options_),
        mask_shape_(at_.mask > 0 ? node.input(at_.mask).shape() : Shape()),
        loops_(simd().attention),
        winograd_(simd().winograd),
        random_(simd().random.f32),
        keys_(whole_panels(sizes_.tk)),
        d_(whole_panels(sizes_.d)),
        e_(whole_panels(sizes_.e)),
        threads_(threads) {}
  std::string_view implementation() const override { return "simd"; }

 protected:
  static Bytes floats(std::int64_t count) { return Bytes(count * std::int64_t{sizeof(float)}); }

  AttentionSizes sizes_of(const KernelArguments& a) const {
    return sizes_.with(at_.mask > 0 ? a.inputs[at_.mask] : nullptr, mask_shape_,
                       at_.lengths > 0 ? a.inputs[at_.lengths] : nullptr,
                       at_.key_ranges > 0 ? a.inputs[at_.key_ranges] : nullptr);
  }
  /// The keys of a head that count; panels have zeros in place of others, which may be anything.
  Vectors keys_of(const AttentionSizes& s, const float* x, std::int64_t row, std::int64_t kv_head,
                  std::int64_t width) const {
    return {x + s.key_at(row, 0, kv_head, width), s.length(row), width, s.kv_heads * width};
  }
  Vectors queries_of(const float* x, std::int64_t row, std::int64_t head, std::int64_t first,
                     std::int64_t width) const {
    return {x + sizes_.query_at(row, first, head, width),
            std::min(queries_at_once, sizes_.tq - first), width, sizes_.heads * width};
  }

  /// Packs all keys of a head by tiles, as rows.
  void pack_tiles(Vectors x, float* to) const {
    const float* first = x.first;
    std::int64_t count = x.count;
    for (std::int64_t key = 0; key < keys_; key += keys_at_once) {
      std::int64_t columns = std::min(keys_at_once, keys_ - key);
      x.first = first + key * x.stride;
      x.count = std::clamp<std::int64_t>(count - key, 0, columns);
      pack_as_rows(x, columns, to);
      to += columns * whole_panels(x.width);
    }
  }

  void multiply(const float* a, const float* u, std::int64_t rows, std::int64_t depth,
                std::int64_t columns, float* to) const {
    WinogradFactors factors{a, u};
    winograd_.products(&factors, 1, rows, depth, columns, to);
  }

  /// Calls f(first key, columns) for the tiles in which keys count for some of these queries.
  template <class F>
  void for_each_tile(const AttentionSizes& s, std::int64_t row, std::int64_t first,
                     std::int64_t count, F f) const {
    // Both ends rise with the query, but where the caller says them.
    AttentionSizes::Keys keys{s.keys(row, first).first, s.keys(row, first + count - 1).end};
    for (std::int64_t i = 0; s.key_ranges && i < count; ++i) {
      AttentionSizes::Keys k = s.keys(row, first + i);
      keys = {std::min(keys.first, k.first), std::max(keys.end, k.end)};
    }
    for (std::int64_t key = keys.first / keys_at_once * keys_at_once; key < keys.end;
         key += keys_at_once)
      f(key, std::min(keys_at_once, keys_ - key));
  }

  /// Minus infinity for the keys of a tile that do not count for a query.
  void hide(const AttentionSizes& s, std::int64_t row, std::int64_t head, std::int64_t query,
            std::int64_t first, std::int64_t columns, float* scores) const {
    constexpr float never = -std::numeric_limits<float>::infinity();
    AttentionSizes::Keys k = s.keys(row, query);
    std::int64_t begin = std::clamp<std::int64_t>(k.first - first, 0, columns),
                 end = std::clamp<std::int64_t>(k.end - first, begin, columns);
    std::fill(scores, scores + begin, never);
    std::fill(scores + end, scores + columns, never);
    for (std::int64_t j = begin; s.mask && j < end; ++j)
      if (!s.counts(row, head, query, first + j)) scores[j] = never;
  }

  /// y = x where dropout keeps the weight, times 1 / (1 - rate), else 0.
  void drop(const KernelArguments& a, std::int64_t row, std::int64_t weight, const float* x,
            float* y, std::int64_t n) const {
    const auto* state = a.input<std::int64_t>(at_.random);
    random_.dropout(philox_key(state[0], options_.stream).value, state[2] + row,
                    static_cast<std::uint64_t>(state[1]) & 0xffffffffffff, weight, options_.dropout,
                    static_cast<float>(1 / (1 - double{options_.dropout})), x, y, n);
  }

  /// Calls body(task, thread) for all tasks, each thread some that follow each other.
  template <class Body>
  void for_tasks(std::int64_t tasks, const Body& body) const {
    parallel_for(threads_, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread)
        for (std::int64_t i = tasks * thread / threads_; i < tasks * (thread + 1) / threads_; ++i)
          body(i, thread);
    });
  }

  DotProductAttentionNodeOptions options_;
  AttentionIndices at_;
  AttentionSizes sizes_;
  Shape mask_shape_;
  const AttentionLoops& loops_;
  const WinogradLoops& winograd_;
  const RandomLoops<float>& random_;
  std::int64_t keys_, d_, e_;  // whole panels
  int threads_;
};

}  // namespace belfry::cpu
