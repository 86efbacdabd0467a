// The recurrence of recurrent layers and its gradient: each thread takes some rows through all
// steps, so that none waits for another. A step is a product with the kernel and a pass over the
// units.

#include <algorithm>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/panels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/recurrent/recurrence.h"

namespace belfry::cpu {
namespace {

/// The kernels' common parts: the packed matrix, and scratch memory for the products of all rows.
class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const RecurrentSizes& sizes, RecurrentCell cell, int input, bool transposed,
                  int threads)
      : sizes_(sizes),
        loops_(simd().recurrent[static_cast<int>(cell)]),
        products_(simd().winograd.products),
        threads_(threads) {
    std::int64_t rows = sizes.units, columns = sizes.width();
    if (transposed) std::swap(rows, columns);
    auto panels = std::make_shared<PanelsKernel<float>>(rows, columns, transposed);
    depth_ = rows;
    width_ = panels->width();
    packed_ = {.input = input,
               .layout = concat("panels ", transposed ? "of columns " : "", rows, "x", columns),
               .size = panels->size(),
               .pack = panels};
  }
  std::vector<PackedInput> packed_inputs() const override { return {packed_}; }
  std::string_view implementation() const override { return "simd"; }

 protected:
  using Products = void (*)(const WinogradFactors*, int, std::int64_t, std::int64_t, std::int64_t,
                            float*);

  static Bytes floats(std::int64_t count) { return Bytes(count * std::int64_t{sizeof(float)}); }

  /// products [rows, width_] = a [rows, depth_] times the matrix.
  void multiply(const float* a, const float* matrix, std::int64_t rows, float* products) const {
    WinogradFactors factors{a, matrix};
    products_(&factors, 1, rows, depth_, width_, products);
  }
  template <class Body>
  void for_rows(const Body& body) const {
    std::int64_t cost = sizes_.steps * sizes_.units * sizes_.width();
    parallel_for(sizes_.rows, rows_worth_sharing(cost), threads_, body);
  }
  std::int64_t position(std::int64_t row, std::int64_t step, std::int64_t length) const {
    return row * sizes_.steps + sizes_.position(step, length);
  }
  /// Zeros behind the row's length, in an array of `width` floats a position.
  void clear_padding(float* array, std::int64_t width, std::int64_t row,
                     std::int64_t length) const {
    std::fill_n(array + (row * sizes_.steps + length) * width, (sizes_.steps - length) * width,
                0.0f);
  }
  void read_state(const float* state, float* to) const {
    if (state)
      std::copy_n(state, sizes_.rows * sizes_.units, to);
    else
      std::fill_n(to, sizes_.rows * sizes_.units, 0.0f);
  }

  RecurrentSizes sizes_;
  const RecurrentLoops& loops_;
  Products products_;
  int threads_;
  std::int64_t depth_, width_;
  PackedInput packed_;
};

const float* given(const KernelArguments& a, int input) {
  return input > 0 ? a.input<float>(input) : nullptr;
}

class Forward final : public RecurrentKernel {
 public:
  Forward(const Node& node, int threads)
      : RecurrentKernel(
          RecurrentSizes(node.output().shape, node.as<RecurrentNodeOptions>().recurrent),
          node.as<RecurrentNodeOptions>().recurrent.cell, 1, false, threads),
        at_(node.as<RecurrentNodeOptions>()) {}

  Bytes workspace() const override { return floats(sizes_.rows * width_ + sizes_.width()); }

  // h and c as they are lie where their last values will be.
  void run(const KernelArguments& a, Stream&) override {
    const auto* lengths = at_.lengths > 0 ? a.input<std::int64_t>(at_.lengths) : nullptr;
    check_recurrent_lengths(lengths, sizes_);  // here: no exception leaves a parallel loop
    read_state(given(a, at_.h), a.output<float>(1));
    if (at_.out_c > 0) read_state(given(a, at_.c), a.output<float>(at_.out_c));
    auto* products = a.scratch<float>();
    const float* bias = given(a, at_.bias);
    if (!bias) {
      float* zeros = products + sizes_.rows * width_;
      std::fill_n(zeros, sizes_.width(), 0.0f);
      bias = zeros;
    }
    for_rows([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t step = 0; step < sizes_.steps; ++step) {
        float* q = products + begin * width_;
        multiply(a.output<float>(1) + begin * sizes_.units, a.input<float>(1), end - begin, q);
        for (std::int64_t row = begin; row < end; ++row, q += width_) {
          std::int64_t length = sizes_.length(lengths, row);
          if (step < length) run_step(a, row, position(row, step, length), q, bias);
        }
      }
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t length = sizes_.length(lengths, row);
        clear_padding(a.output<float>(0), sizes_.units, row, length);
        if (at_.kept > 0)
          clear_padding(a.output<float>(at_.kept), sizes_.kept * sizes_.units, row, length);
      }
    });
  }

 private:
  void run_step(const KernelArguments& a, std::int64_t row, std::int64_t position, const float* q,
                const float* bias) const {
    std::int64_t n = sizes_.units;
    float* h = a.output<float>(1) + row * n;
    float* c = at_.out_c > 0 ? a.output<float>(at_.out_c) + row * n : nullptr;
    float* kept = at_.kept > 0 ? a.output<float>(at_.kept) + position * sizes_.kept * n : nullptr;
    loops_.forward(a.input<float>(0) + position * sizes_.width(), q, bias, n, h, c, kept);
    std::copy_n(h, n, a.output<float>(0) + position * n);
  }

  RecurrentIndices at_;
};

class Backward final : public RecurrentKernel {
 public:
  Backward(const Node& node, int threads)
      : RecurrentKernel(
          RecurrentSizes(node.input(1).shape(), node.as<RecurrentGradOptions>().recurrent),
          node.as<RecurrentGradOptions>().recurrent.cell, 0, true, threads),
        at_(node.as<RecurrentGradOptions>()) {}

  // dh, dc, dq of a step, products, zeros.
  Bytes workspace() const override {
    return floats(sizes_.rows * (2 * sizes_.units + sizes_.width() + width_) + sizes_.units);
  }

  void run(const KernelArguments& a, Stream&) override {
    const auto* lengths = at_.lengths > 0 ? a.input<std::int64_t>(at_.lengths) : nullptr;
    Scratch s(a.scratch<float>(), sizes_, width_);
    read_state(given(a, at_.dh), s.dh);
    read_state(given(a, at_.dc), s.dc);
    std::fill_n(s.dq, sizes_.rows * sizes_.width(), 0.0f);
    std::fill_n(s.zeros, sizes_.units, 0.0f);
    for_rows([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t step = sizes_.steps - 1; step >= 0; --step) {
        for (std::int64_t row = begin; row < end; ++row)
          if (step < sizes_.length(lengths, row))
            run_step(a, s, row, step, sizes_.length(lengths, row));
        if (step == 0 && at_.out_dh < 0) break;
        multiply(s.dq + begin * sizes_.width(), a.input<float>(0), end - begin,
                 s.products + begin * width_);
        for (std::int64_t row = begin; row < end; ++row)
          if (step < sizes_.length(lengths, row)) add_products(s, row);
      }
      for (std::int64_t row = begin; row < end; ++row) finish(a, s, row, lengths);
    });
  }

 private:
  struct Scratch {
    Scratch(float* memory, const RecurrentSizes& sizes, std::int64_t width)
        : dh(memory),
          dc(dh + sizes.rows * sizes.units),
          dq(dc + sizes.rows * sizes.units),
          products(dq + sizes.rows * sizes.width()),
          zeros(products + sizes.rows * width) {}
    float *dh, *dc, *dq, *products, *zeros;
  };

  void run_step(const KernelArguments& a, const Scratch& s, std::int64_t row, std::int64_t step,
                std::int64_t length) const {
    std::int64_t n = sizes_.units, here = position(row, step, length),
                 previous = position(row, step - 1, length);
    auto state = [&](int input) {
      const float* first = given(a, input);
      return first ? first + row * n : s.zeros;
    };
    const float* kept = given(a, at_.kept);
    // The last of what is kept is c.
    auto kept_at = [&](std::int64_t position) { return kept + position * sizes_.kept * n; };
    const float* h_before = step > 0 ? a.input<float>(1) + previous * n : state(at_.h);
    const float* c_before =
        step > 0 && kept ? kept_at(previous) + (sizes_.kept - 1) * n : state(at_.c);
    const float* dy = given(a, at_.dy);
    float* dq = s.dq + row * sizes_.width();
    loops_.backward(kept ? kept_at(here) : nullptr, a.input<float>(1) + here * n, h_before,
                    c_before, dy ? dy + here * n : s.zeros, n, s.dh + row * n, s.dc + row * n,
                    a.output<float>(0) + here * sizes_.width(), dq);
    std::copy_n(h_before, n, a.output<float>(1) + here * n);
    if (at_.dq > 0)
      std::copy_n(dq, sizes_.width(), a.output<float>(at_.dq) + here * sizes_.width());
  }

  void add_products(const Scratch& s, std::int64_t row) const {
    float* dh = s.dh + row * sizes_.units;
    const float* products = s.products + row * width_;
    for (std::int64_t u = 0; u < sizes_.units; ++u) dh[u] += products[u];
  }

  void finish(const KernelArguments& a, const Scratch& s, std::int64_t row,
              const std::int64_t* lengths) const {
    std::int64_t length = sizes_.length(lengths, row), n = sizes_.units;
    clear_padding(a.output<float>(0), sizes_.width(), row, length);
    clear_padding(a.output<float>(1), n, row, length);
    if (at_.dq > 0) clear_padding(a.output<float>(at_.dq), sizes_.width(), row, length);
    if (at_.out_dh > 0) std::copy_n(s.dh + row * n, n, a.output<float>(at_.out_dh) + row * n);
    if (at_.out_dc > 0) std::copy_n(s.dc + row * n, n, a.output<float>(at_.out_dc) + row * n);
  }

  RecurrentGradIndices at_;
};

template <class K>
std::unique_ptr<Kernel> make(const Node& node, int threads) {
  if (node.output().dtype != DType::f32 || node.output().shape.elements() == 0) return nullptr;
  return std::make_unique<K>(node, threads);
}

const KernelRegistration forward(recurrent_op, make<Forward>);
const KernelRegistration backward(recurrent_grad_op, make<Backward>);

}  // namespace
}  // namespace belfry::cpu
