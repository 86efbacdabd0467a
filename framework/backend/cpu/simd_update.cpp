// Optimizer updates: one pass over the elements of all variables, shared evenly among the threads
// wherever a variable ends.

#include <cmath>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/updates.h"

namespace belfry::cpu {
namespace {

/// One variable among all that a node updates.
struct UpdateItem {
  std::int64_t begin = 0;  ///< place of its first element among those of all
  std::int64_t elements = 0;
  int rank = 0;
};

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
      : threads_(threads), options_(node.as<Options>()), layout_(update_layout<Rule>(options_)) {
    for (int g = 0; g < layout_.groups(node.inputs().size()); ++g) {
      const Shape& shape = node.input(layout_.variable(g)).shape();
      items_.push_back({total_, shape.elements(), shape.rank()});
      total_ += shape.elements();
    }
  }
  std::string_view implementation() const override { return "simd"; }

 protected:
  Rule<float> rule(const KernelArguments& a, const UpdateItem& item) const {
    UpdateScalars scalars{
        .learning_rate = double{*static_cast<const float*>(a.inputs[0])},
        .step = layout_.scalars > 1 ? *static_cast<const std::int64_t*>(a.inputs[1]) : 0};
    return Rule<float>::template make<StdMath>(options_, scalars, item.rank);
  }
  /// From element `at` of item g on.
  ItemPointers pointers(const KernelArguments& a, std::size_t g, std::int64_t at) const {
    int group = static_cast<int>(g);
    auto data = [&](int i) {
      return static_cast<float*>(a.inputs[static_cast<std::size_t>(i)]) + at;
    };
    ItemPointers p{data(layout_.variable(group)), data(layout_.gradient(group)), {}};
    for (int k = 0; k < layout_.slots; ++k)
      p.slots[static_cast<std::size_t>(k)] = data(layout_.slot(group, k));
    return p;
  }

  int threads_;
  Options options_;
  UpdateLayout layout_;
  std::vector<UpdateItem> items_;
  std::int64_t total_ = 0;
};

template <template <class> class Rule>
class UpdateKernel final : public UpdateKernelBase<Rule> {
 public:
  UpdateKernel(const Node& node, UpdateLoop<Rule<float>> loop, int threads)
      : UpdateKernelBase<Rule>(node, threads), loop_(loop) {}

  void run(const KernelArguments& a, Stream&) override {
    parallel_for(this->total_, elements_worth_sharing, this->threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t g = 0; g < this->items_.size(); ++g) {
                     const UpdateItem& item = this->items_[g];
                     std::int64_t from = std::max(begin - item.begin, std::int64_t{0});
                     std::int64_t to = std::min(end - item.begin, item.elements);
                     if (from >= to) continue;
                     ItemPointers p = this->pointers(a, g, from);
                     loop_(this->rule(a, item), p.variable, p.gradient, p.slots.data(), to - from);
                   }
                 });
  }

 private:
  UpdateLoop<Rule<float>> loop_;
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
    return Bytes(static_cast<std::int64_t>(2 * (chunks_.size() + items_.size()) * sizeof(double)));
  }

  void run(const KernelArguments& a, Stream&) override {
    auto* sums = static_cast<double*>(a.workspace);
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
    parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end);
                        ++k)
                     body(k, chunks_[k]);
                 });
  }

  const UpdateLoops& loops_;
  std::vector<Chunk> chunks_;
};

template <template <class> class Rule>
KernelFactory factory(UpdateLoop<Rule<float>> UpdateLoops::*loop) {
  return [loop](const Node& node, int threads) -> std::unique_ptr<Kernel> {
    if (node.inputs().back().dtype() != DType::f32) return nullptr;
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

}  // namespace
}  // namespace belfry::cpu
