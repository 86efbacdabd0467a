// The gradient of attention: scores once more, tile by tile. A head of keys is one thread's, so
// that the sums of its gradients have one order.

#include <utility>

#include "belfry/framework/backend/cpu/attention_tiles.h"
#include "belfry/framework/backend/cpu/cpu_kernels.h"

namespace belfry::cpu {
namespace {

class AttentionGrad final : public AttentionKernel {
 public:
  AttentionGrad(const Node& node, int threads) : AttentionKernel(node, 6, threads) {}

  Bytes workspace() const override { return floats(threads_ * floats_of_thread()); }

  void run(const KernelArguments& a, Stream&) override {
    AttentionSizes s = sizes_of(a);
    auto* scratch = a.scratch<float>();
    for_tasks(s.n * s.kv_heads, [&](std::int64_t task, std::int64_t thread) {
      run_head(a, s, task / s.kv_heads, task % s.kv_heads,
               Scratch(scratch + thread * floats_of_thread(), *this));
    });
  }

 private:
  /// For one head of keys at a time: its operands in panels, its sums, and a tile's arrays.
  struct Scratch {
    Scratch(float* memory, const AttentionGrad& k) : memory(memory) {
      keys = take(k.keys_ * k.sizes_.d);
      values = take(k.keys_ * k.sizes_.e);
      key_tiles = take(k.keys_ * k.d_);
      dk = take(k.keys_ * k.d_);
      dv = take(k.keys_ * k.e_);
      queries = take(queries_at_once * k.sizes_.d);
      query_panels = take(queries_at_once * k.d_);
      dy = take(queries_at_once * k.sizes_.e);
      dy_panels = take(queries_at_once * k.e_);
      dq = take(queries_at_once * k.d_);
      products = take(queries_at_once * k.d_);
      for (float** tile : {&scores, &value_products, &weight_panels, &slope_panels, &slopes})
        *tile = take(queries_at_once * keys_at_once);
      kept = take(keys_at_once);
    }
    float* take(std::int64_t floats) {
      std::int64_t at = std::exchange(size, size + whole_panels(floats));
      return memory ? memory + at : nullptr;
    }

    float* memory;  // null: to find the size
    std::int64_t size = 0;
    float *keys, *values, *key_tiles, *dk, *dv, *queries, *query_panels, *dy, *dy_panels, *dq,
        *products, *scores, *value_products, *weight_panels, *slope_panels, *slopes, *kept;
  };
  std::int64_t floats_of_thread() const { return Scratch(nullptr, *this).size; }

  void run_head(const KernelArguments& a, const AttentionSizes& s, std::int64_t row,
                std::int64_t kv_head, const Scratch& scratch) const {
    Vectors keys = keys_of(s, a.input<float>(1), row, kv_head, s.d);
    pack_as_columns(keys, s.tk, scratch.keys);
    pack_tiles(keys, scratch.key_tiles);
    pack_as_columns(keys_of(s, a.input<float>(2), row, kv_head, s.e), s.tk, scratch.values);
    std::fill_n(scratch.dk, keys_ * d_, 0.0f);
    std::fill_n(scratch.dv, keys_ * e_, 0.0f);
    std::int64_t group = s.heads / s.kv_heads;
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (std::int64_t first = 0; first < s.tq; first += queries_at_once)
        run_block(a, s, row, head, first, scratch);
    for (std::int64_t key = 0; key < s.tk; ++key) {
      std::copy_n(scratch.dk + key * d_, s.d,
                  a.output<float>(1) + s.key_at(row, key, kv_head, s.d));
      std::copy_n(scratch.dv + key * e_, s.e,
                  a.output<float>(2) + s.key_at(row, key, kv_head, s.e));
    }
  }

  void run_block(const KernelArguments& a, const AttentionSizes& s, std::int64_t row,
                 std::int64_t head, std::int64_t first, const Scratch& t) const {
    Vectors q = queries_of(a.input<float>(0), row, head, first, s.d),
            y = queries_of(a.input<float>(3), row, head, first, s.e),
            dy = queries_of(a.input<float>(5), row, head, first, s.e);
    float shifts[queries_at_once] = {}, log_sums[queries_at_once];
    for (std::int64_t i = 0; i < q.count; ++i) {
      for (std::int64_t j = 0; j < s.d; ++j)
        t.queries[i * s.d + j] = q.first[i * q.stride + j] * static_cast<float>(options_.scale);
      std::copy_n(dy.first + i * dy.stride, s.e, t.dy + i * s.e);
      for (std::int64_t j = 0; j < s.e; ++j)
        shifts[i] += dy.first[i * dy.stride + j] * y.first[i * y.stride + j];
      float log_sum = a.input<float>(4)[(row * s.heads + head) * s.tq + first + i];
      // Where no key counts, all weights are exp(-infinity).
      log_sums[i] = log_sum == -std::numeric_limits<float>::infinity() ? 0 : log_sum;
    }
    pack_as_rows({t.queries, q.count, s.d, s.d}, q.count, t.query_panels);
    pack_as_rows({t.dy, q.count, s.e, s.e}, q.count, t.dy_panels);
    std::fill_n(t.dq, q.count * d_, 0.0f);
    std::fill_n(t.kept, keys_at_once, 1.0f);  // unless dropout says otherwise
    for_each_tile(s, row, first, q.count, [&](std::int64_t key, std::int64_t columns) {
      multiply(t.queries, t.keys + key * s.d, q.count, s.d, columns, t.scores);
      multiply(t.dy, t.values + key * s.e, q.count, s.e, columns, t.value_products);
      for (std::int64_t i = 0; i < q.count; ++i) {
        hide(s, row, head, first + i, key, columns, t.scores + i * columns);
        if (at_.random > 0) {
          std::fill_n(t.kept, columns, 1.0f);
          drop(a, row, s.weight(head, first + i, key), t.kept, t.kept, columns);
        }
        loops_.slopes(t.scores + i * columns, log_sums[i], t.value_products + i * columns,
                      shifts[i], t.kept, columns, q.count * winograd_channels,
                      t.weight_panels + i * winograd_channels,
                      t.slope_panels + i * winograd_channels, t.slopes + i * columns);
      }
      winograd_.add_products(t.weight_panels, t.dy_panels, false, q.count, columns, e_,
                             t.dv + key * e_);
      winograd_.add_products(t.slope_panels, t.query_panels, false, q.count, columns, d_,
                             t.dk + key * d_);
      multiply(t.slopes, t.key_tiles + key * d_, q.count, columns, d_, t.products);
      loops_.scale_and_add(t.dq, t.products, 1, q.count * d_);
    });
    for (std::int64_t i = 0; i < q.count; ++i) {
      float* dq = a.output<float>(0) + s.query_at(row, first + i, head, s.d);
      for (std::int64_t j = 0; j < s.d; ++j)
        dq[j] = t.dq[i * d_ + j] * static_cast<float>(options_.scale);
    }
  }
};

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  if (node.output().dtype != DType::f32 || node.input(0).shape().elements() == 0
      || node.input(2).shape().elements() == 0)
    return nullptr;
  return std::make_unique<AttentionGrad>(node, threads);
}

const KernelRegistration registration(dot_product_attention_grad_op, make);

}  // namespace
}  // namespace belfry::cpu
