// Attention: scores in tiles, with running maxima.

#include <cmath>

#include "belfry/framework/backend/cpu/attention_tiles.h"
#include "belfry/framework/backend/cpu/cpu_kernels.h"

namespace belfry::cpu {
namespace {

class Attention final : public AttentionKernel {
 public:
  Attention(const Node& node, int threads) : AttentionKernel(node, 3, threads) {}

  Bytes workspace() const override {
    return floats(sizes_.n * sizes_.kv_heads * floats_of_head() + threads_ * floats_of_thread());
  }

  void run(const KernelArguments& a, Stream&) override {
    AttentionSizes s = sizes_of(a);
    check_attention_lengths(s);  // here: no exception leaves a parallel loop
    auto* heads = a.scratch<float>();
    float* scratch = heads + s.n * s.kv_heads * floats_of_head();
    for_tasks(s.n * s.kv_heads, [&](std::int64_t task, std::int64_t) {
      std::int64_t row = task / s.kv_heads, head = task % s.kv_heads;
      float* to = heads + task * floats_of_head();
      pack_as_columns(keys_of(s, a.input<float>(1), row, head, s.d), s.tk, to);
      pack_tiles(keys_of(s, a.input<float>(2), row, head, s.e), to + keys_ * s.d);
    });
    std::int64_t blocks = ceil_div(s.tq, queries_at_once);
    for_tasks(s.n * s.heads * blocks, [&](std::int64_t task, std::int64_t thread) {
      std::int64_t head = task / blocks % s.heads, row = task / blocks / s.heads;
      run_block(a, s, row, head, task % blocks * queries_at_once,
                heads + (row * s.kv_heads + s.kv_head(head)) * floats_of_head(),
                Scratch(scratch + thread * floats_of_thread(), s.d, e_));
    });
  }

 private:
  struct Scratch {
    Scratch(float* memory, std::int64_t d, std::int64_t e)
        : queries(memory),
          scores(queries + queries_at_once * d),
          products(scores + queries_at_once * keys_at_once),
          sums(products + queries_at_once * e) {}
    float *queries, *scores, *products, *sums;
  };
  std::int64_t floats_of_head() const { return keys_ * (sizes_.d + e_); }
  std::int64_t floats_of_thread() const {
    return whole_panels(queries_at_once * (sizes_.d + keys_at_once + 2 * e_));
  }

  void run_block(const KernelArguments& a, const AttentionSizes& s, std::int64_t row,
                 std::int64_t head, std::int64_t first, const float* keys,
                 const Scratch& scratch) const {
    Vectors q = queries_of(a.input<float>(0), row, head, first, s.d);
    for (std::int64_t i = 0; i < q.count; ++i)
      for (std::int64_t j = 0; j < s.d; ++j)
        scratch.queries[i * s.d + j] =
            q.first[i * q.stride + j] * static_cast<float>(options_.scale);
    std::fill_n(scratch.sums, q.count * e_, 0.0f);
    float highest[queries_at_once], totals[queries_at_once] = {}, corrections[queries_at_once];
    std::fill_n(highest, q.count, -std::numeric_limits<float>::infinity());
    const float* values = keys + keys_ * s.d;
    for_each_tile(s, row, first, q.count, [&](std::int64_t key, std::int64_t columns) {
      multiply(scratch.queries, keys + key * s.d, q.count, s.d, columns, scratch.scores);
      for (std::int64_t i = 0; i < q.count; ++i)
        hide(s, row, head, first + i, key, columns, scratch.scores + i * columns);
      loops_.weights(scratch.scores, q.count, columns, highest, totals, corrections);
      for (std::int64_t i = 0; at_.random > 0 && i < q.count; ++i) {
        float* scores = scratch.scores + i * columns;
        drop(a, row, s.weight(head, first + i, key), scores, scores, columns);
      }
      multiply(scratch.scores, values + key * e_, q.count, columns, e_, scratch.products);
      for (std::int64_t i = 0; i < q.count; ++i)
        loops_.scale_and_add(scratch.sums + i * e_, scratch.products + i * e_, corrections[i], e_);
    });
    for (std::int64_t i = 0; i < q.count; ++i) {
      bool none = totals[i] == 0;
      float* y = a.output<float>(0) + s.query_at(row, first + i, head, s.e);
      for (std::int64_t j = 0; j < s.e; ++j) y[j] = none ? 0 : scratch.sums[i * e_ + j] / totals[i];
      a.output<float>(1)[(row * s.heads + head) * s.tq + first + i] =
          none ? highest[i] : highest[i] + std::log(totals[i]);
    }
  }
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  if (node.output().dtype != DType::f32 || node.input(1).shape().elements() == 0) return nullptr;
  return std::make_unique<Attention>(node, threads);
}

const KernelRegistration registration(dot_product_attention_op, make);

}  // namespace
}  // namespace belfry::cpu
