// Optimizer updates: one pass over the elements of all variables, shared evenly among the threads
// wherever a variable ends.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/update/update_rule.h"

namespace belfry::cpu {
namespace {

/// One variable among all that a node updates.
struct UpdateItem {
  std::int64_t begin = 0;  ///< place of its first element among those of all
  std::int64_t elements = 0;
  std::int64_t row = 0;  ///< elements at one place of the first axis
  int rank = 0;
};

void append(std::vector<UpdateItem>& items, const Shape& shape) {
  std::int64_t begin = items.empty() ? 0 : items.back().begin + items.back().elements;
  std::int64_t rows = shape.rank() > 0 ? std::max<std::int64_t>(shape[0], 1) : 1;
  items.push_back({begin, shape.elements(), shape.elements() / rows, shape.rank()});
}

/// Calls body(g, from, to) for parts of all items, shared among the threads.
template <class Body>
void for_parts(const std::vector<UpdateItem>& items, int threads, const Body& body) {
  std::int64_t total = items.back().begin + items.back().elements;
  parallel_for(total, elements_worth_sharing, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t g = 0; g < items.size(); ++g) {
      std::int64_t from = std::max(begin - items[g].begin, std::int64_t{0});
      std::int64_t to = std::min(end - items[g].begin, items[g].elements);
      if (from < to) body(g, from, to);
    }
  });
}

struct ItemPointers {
  float* variable;
  const float* gradient;
  std::array<float*, 3> slots;
};

template <template <class> class Rule>
class UpdateKernelBase : public Kernel {
 public:
  using Options = typename Rule<float>::Options;

  UpdateKernelBase(const Node& node, int threads)
      : threads_(threads),
        options_(node.as<Options>()),
        layout_(update_layout<Rule>(options_, node.inputs().size())) {
    for (int g = 0; g < layout_.groups(node.inputs().size()); ++g)
      append(items_, node.input(layout_.variable(g)).shape());
  }
  std::string_view implementation() const override { return "simd"; }
  void run(const KernelArguments& a, Stream&) final {
    if (layout_.condition && !*static_cast<const bool*>(a.inputs[layout_.condition_input()]))
      return;
    update(a);
  }

 protected:
  virtual void update(const KernelArguments& a) = 0;
  Rule<float> rule(const KernelArguments& a, const UpdateItem& item) const {
    UpdateScalars scalars{.learning_rate = double{*a.input<float>(0)},
                          .step = layout_.scalars > 1 ? *a.input<std::int64_t>(1) : 0};
    return Rule<float>::template make<StdMath>(options_, scalars, item.rank);
  }
  /// From element `at` of item g on.
  ItemPointers pointers(const KernelArguments& a, std::size_t g, std::int64_t at) const {
    int group = g;
    auto data = [&](int i) { return static_cast<float*>(a.inputs[i]) + at; };
    ItemPointers p{data(layout_.variable(group)), data(layout_.gradient(group)), {}};
    for (int k = 0; k < layout_.slots; ++k) p.slots[k] = data(layout_.slot(group, k));
    return p;
  }

  int threads_;
  Options options_;
  UpdateLayout layout_;
  std::vector<UpdateItem> items_;
};

template <template <class> class Rule>
class UpdateKernel final : public UpdateKernelBase<Rule> {
 public:
  UpdateKernel(const Node& node, UpdateLoop<Rule<float>> loop, int threads)
      : UpdateKernelBase<Rule>(node, threads), loop_(loop) {}

  void update(const KernelArguments& a) override {
    for_parts(this->items_, this->threads_, [&](std::size_t g, std::int64_t from, std::int64_t to) {
      const UpdateItem& item = this->items_[g];
      Rule<float> rule = this->rule(a, item);
      if (is_lazy(this->options_, item.rank)) return update_rows(rule, a, g, from, to);
      ItemPointers p = this->pointers(a, g, from);
      loop_(rule, p.variable, p.gradient, p.slots.data(), to - from);
    });
  }

 private:
  // Rows that are not idle; the first and the last may be others' in part.
  void update_rows(const Rule<float>& rule, const KernelArguments& a, std::size_t g,
                   std::int64_t from, std::int64_t to) const {
    std::int64_t width = this->items_[g].row;
    for (std::int64_t row = from / width * width; row < to; row += width) {
      if (is_idle(this->pointers(a, g, row).gradient, width)) continue;
      std::int64_t begin = std::max(row, from), end = std::min(row + width, to);
      ItemPointers p = this->pointers(a, g, begin);
      loop_(rule, p.variable, p.gradient, p.slots.data(), end - begin);
    }
  }

  UpdateLoop<Rule<float>> loop_;
};

/// Slots in fewer bits: block by block they are unpacked, updated and packed, in the cache.
template <template <class> class Rule>
class PackedUpdateKernel final : public UpdateKernelBase<Rule> {
 public:
  PackedUpdateKernel(const Node& node, UpdateLoop<Rule<float>> loop, int threads)
      : UpdateKernelBase<Rule>(node, threads), loop_(loop), slots_(simd().slots) {}

  void update(const KernelArguments& a) override {
    for_parts(this->items_, this->threads_, [&](std::size_t g, std::int64_t from, std::int64_t to) {
      Rule<float> rule = this->rule(a, this->items_[g]);
      // Blocks that begin in this part.
      for (std::int64_t at = (from + state_block - 1) / state_block * state_block; at < to;
           at += state_block)
        update_block(rule, a, g, at);
    });
  }

 private:
  void update_block(const Rule<float>& rule, const KernelArguments& a, std::size_t g,
                    std::int64_t at) const {
    auto input = [&](int i) { return a.inputs[i]; };
    auto count = static_cast<std::size_t>(this->layout_.slots);
    std::int64_t n = std::min(state_block, this->items_[g].elements - at);
    RandomBlock random = rounding_block(
        static_cast<const std::int64_t*>(input(this->layout_.random_state())), g, at / 4);
    alignas(64) std::uint32_t words[state_block];
    alignas(64) float values[2][state_block];
    float* const slots[3] = {values[0], values[1], nullptr};
    slots_.draw(random.key.value, static_cast<std::uint32_t>(g), random.step, at, words);
    auto slot = [&](std::size_t k) {
      return input(this->layout_.slot(static_cast<int>(g), static_cast<int>(k)));
    };
    for (std::size_t k = 0; k < count; ++k) {
      if (state_of(this->options_) == OptimizerState::bf16)
        convert_.load(static_cast<const BFloat16*>(slot(k)) + at, values[k], n);
      else
        loops(k).load(block(slot(k), at), values[k], n);
    }
    ItemPointers p = this->pointers(a, g, at);
    loop_(rule, p.variable, p.gradient, slots, n);
    for (std::size_t k = 0; k < count; ++k) {
      if (state_of(this->options_) == OptimizerState::bf16)
        slots_.store_bf16(values[k], words, 16 * static_cast<int>(k),
                          static_cast<BFloat16*>(slot(k)) + at, n);
      else
        loops(k).store(values[k], words, 16 * static_cast<int>(k), block(slot(k), at), n);
    }
  }

  static std::uint8_t* block(void* slot, std::int64_t at) {
    return static_cast<std::uint8_t*>(slot) + at / state_block * state_block_bytes;
  }
  const EightBitLoops& loops(std::size_t k) const {
    return slots_.eight_bits[is_signed<Rule<float>>(static_cast<int>(k))];
  }

  UpdateLoop<Rule<float>> loop_;
  const SlotLoops& slots_;
  const ConvertLoops<BFloat16>& convert_ = simd().convert.bf16;
};

/// Two passes, as the second needs norms over whole variables: sums of each chunk of a variable,
/// combined in the order of chunks.
class LambKernel final : public UpdateKernelBase<update::Lamb> {
 public:
  LambKernel(const Node& node, int threads)
      : UpdateKernelBase(node, threads), loops_(simd().updates) {
    for (std::size_t g = 0; g < items_.size(); ++g)
      for (std::int64_t at = 0; at < items_[g].elements; at += elements_worth_sharing)
        chunks_.push_back({g, at, std::min(elements_worth_sharing, items_[g].elements - at)});
  }
  Bytes workspace() const override {
    return Bytes(2 * (chunks_.size() + items_.size()) * sizeof(double));
  }

  void update(const KernelArguments& a) override {
    auto* sums = a.scratch<double>();
    double* totals = sums + 2 * chunks_.size();
    for_chunks([&](std::size_t k, const Chunk& chunk) {
      ItemPointers p = pointers(a, chunk.item, chunk.begin);
      sums[2 * k] = sums[2 * k + 1] = 0;
      loops_.lamb_moments(rule(a, items_[chunk.item]), p.variable, p.gradient, p.slots.data(),
                          chunk.size, &sums[2 * k], &sums[2 * k + 1]);
    });
    std::fill_n(totals, 2 * items_.size(), 0.0);
    for (std::size_t k = 0; k < chunks_.size(); ++k) {
      totals[2 * chunks_[k].item] += sums[2 * k];
      totals[2 * chunks_[k].item + 1] += sums[2 * k + 1];
    }
    for_chunks([&](std::size_t, const Chunk& chunk) {
      ItemPointers p = pointers(a, chunk.item, chunk.begin);
      update::Lamb<float> lamb = rule(a, items_[chunk.item]);
      float step =
          lamb.step(std::sqrt(totals[2 * chunk.item]), std::sqrt(totals[2 * chunk.item + 1]));
      loops_.lamb_step(lamb, step, p.variable, p.slots.data(), chunk.size);
    });
  }

 private:
  struct Chunk {
    std::size_t item;
    std::int64_t begin, size;
  };
  template <class Body>
  void for_chunks(const Body& body) const {
    parallel_for(std::ssize(chunks_), 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) body(k, chunks_[k]);
    });
  }

  const UpdateLoops& loops_;
  std::vector<Chunk> chunks_;
};

/// So little is computed that memory sets the pace: the compiler's own vectors do.
class MovingAverageKernel final : public Kernel {
 public:
  MovingAverageKernel(const Node& node, int threads)
      : threads_(threads),
        options_(node.as<MovingAverageUpdateOptions>()),
        layout_{node.inputs().size()} {
    for (int g = 0; g < layout_.groups(); ++g)
      append(items_, node.input(layout_.variable(g)).shape());
  }
  std::string_view implementation() const override { return "simd"; }

  void run(const KernelArguments& a, Stream&) override {
    if (layout_.condition() && !*a.input<bool>(0)) return;
    for_parts(items_, threads_, [&](std::size_t g, std::int64_t from, std::int64_t to) {
      int group = g;
      auto rule = update::MovingAverage<float>::make(options_, *count(a, group));
      const auto* variable = input<const float>(a, layout_.variable(group));
      auto* average = input<float>(a, layout_.average(group));
      for (std::int64_t i = from; i < to; ++i) rule.apply(average[i], variable[i]);
    });
    for (int g = 0; g < layout_.groups(); ++g) ++*count(a, g);
  }

 private:
  template <class T>
  static T* input(const KernelArguments& a, int i) {
    return static_cast<T*>(a.inputs[i]);
  }
  std::int64_t* count(const KernelArguments& a, int group) const {
    return input<std::int64_t>(a, layout_.count(group));
  }

  int threads_;
  MovingAverageUpdateOptions options_;
  AverageLayout layout_;
  std::vector<UpdateItem> items_;
};

std::unique_ptr<Kernel> make_moving_average(const Node& node, int threads) {
  AverageLayout layout{node.inputs().size()};
  for (int g = 0; g < layout.groups(); ++g)
    if (node.input(layout.variable(g)).dtype() != DType::f32) return nullptr;
  return std::make_unique<MovingAverageKernel>(node, threads);
}

template <template <class> class Rule>
auto factory(UpdateLoop<Rule<float>> UpdateLoops::*loop) {
  return [loop](const Node& node, int threads) -> std::unique_ptr<Kernel> {
    const auto& options = node.as<typename Rule<float>::Options>();
    UpdateLayout layout = update_layout<Rule>(options, node.inputs().size());
    if (node.input(layout.variable(0)).dtype() != DType::f32) return nullptr;
    if (layout.random)
      return std::make_unique<PackedUpdateKernel<Rule>>(node, simd().updates.*loop, threads);
    return std::make_unique<UpdateKernel<Rule>>(node, simd().updates.*loop, threads);
  };
}

const KernelRegistration sgd(sgd_update_op, factory<update::Sgd>(&UpdateLoops::sgd));
const KernelRegistration momentum(momentum_update_op,
                                  factory<update::Momentum>(&UpdateLoops::momentum));
const KernelRegistration adam(adam_update_op, factory<update::Adam>(&UpdateLoops::adam));
const KernelRegistration rmsprop(rmsprop_update_op,
                                 factory<update::Rmsprop>(&UpdateLoops::rmsprop));
const KernelRegistration adagrad(adagrad_update_op,
                                 factory<update::Adagrad>(&UpdateLoops::adagrad));
const KernelRegistration ftrl(ftrl_update_op, factory<update::Ftrl>(&UpdateLoops::ftrl));
const KernelRegistration lamb(lamb_update_op,
                              [](const Node& node, int threads) -> std::unique_ptr<Kernel> {
                                if (node.inputs().back().dtype() != DType::f32) return nullptr;
                                return std::make_unique<LambKernel>(node, threads);
                              });
const KernelRegistration moving_average(moving_average_update_op, make_moving_average);

}  // namespace
}  // namespace belfry::cpu
