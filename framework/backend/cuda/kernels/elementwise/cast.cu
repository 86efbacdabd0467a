// cast, of each type to each. Those between f32 and 16 bits, weights' and gradients' say, go together.

#include <vector>

#include "belfry/framework/backend/cuda/kernels/elementwise/elementwise.h"
#include "belfry/framework/backend/cuda/kernels/multi_tensor.h"
#include "belfry/framework/backend/cuda/together.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/cast.h"

namespace belfry::cuda {
namespace {

template <class To>
struct Cast : functor::Functor<1, Domain::any> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static compute_type<To> apply(T x) {
    return convert<compute_type<To>>(x);
  }
};

template <class From, class To>
void enqueue_one(std::int64_t count, const KernelArguments& a, Stream& stream) {
  launch(stream, threads_for(count, flat_each<From>), elementwise_flat<Cast<To>, From, To>,
         Addresses<1>{{a.inputs[0]}}, Steps<1>{{1}}, a.output<To>(0), count);
}

template <class From, class To>
__global__ void cast_all(Batch<2> batch) {
  Chunk chunk = chunk_of<From>(batch);
  auto* from = static_cast<const From*>(batch.tensors[chunk.group][0]);
  auto* to = static_cast<To*>(batch.tensors[chunk.group][1]);
  for_each_pack<From>(chunk, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    compute_type<From> values[N];
    load_values(from + i, values);
    store_values(to + i, values);
  });
}

/// One or more, of as many elements each.
class Casts : public Kernel {
 public:
  explicit Casts(std::vector<std::int64_t> elements) : elements_(std::move(elements)) {}
  std::string_view implementation() const override { return "cuda"; }
  const std::vector<std::int64_t>& elements() const { return elements_; }
  /// One kernel of all of these; null if they are no casts of the same types.
  virtual std::shared_ptr<Kernel> together(
      std::span<const std::shared_ptr<Kernel>> kernels) const = 0;

 private:
  std::vector<std::int64_t> elements_;
};

template <class From, class To>
class CastsOf final : public Casts {
 public:
  using Casts::Casts;

  void run(const KernelArguments& a, Stream& stream) override {
    if (elements().size() == 1) return enqueue_one<From, To>(elements()[0], a, stream);
    std::vector<void*> tensors(a.inputs.begin(), a.inputs.end());
    tensors.insert(tensors.end(), a.outputs.begin(), a.outputs.end());
    int count = static_cast<int>(elements().size());
    std::vector<TensorGroup<2>> groups;
    for (int i = 0; i < count; ++i)
      groups.push_back({.inputs = {i, count + i}, .elements = elements()[i]});
    for_each_batch<From>(groups, {tensors, {}, nullptr}, [&](const Batch<2>& batch) {
      launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, cast_all<From, To>,
             batch);
    });
  }

  std::shared_ptr<Kernel> together(
      std::span<const std::shared_ptr<Kernel>> kernels) const override {
    std::vector<std::int64_t> all;
    for (const std::shared_ptr<Kernel>& kernel : kernels) {
      const auto* one = dynamic_cast<const CastsOf*>(kernel.get());
      if (!one) return nullptr;
      all.insert(all.end(), one->elements().begin(), one->elements().end());
    }
    return std::make_shared<CastsOf>(std::move(all));
  }
};

std::shared_ptr<Kernel> casts_together(std::span<const std::shared_ptr<Kernel>> kernels) {
  const auto* first = dynamic_cast<const Casts*>(kernels[0].get());
  return first ? first->together(kernels) : nullptr;
}

const TogetherRegistration together(casts_together);

template <class From, class To>
constexpr bool go_together = (std::is_same_v<From, float> && sizeof(To) == 2)
                             || (sizeof(From) == 2 && std::is_same_v<To, float>);

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.input(0).dtype(), [&](auto from) {
    return dispatch(node.output().dtype, [&](auto to) -> std::unique_ptr<Kernel> {
      using From = decltype(from);
      using To = decltype(to);
      std::int64_t elements = node.output().shape.elements();
      if constexpr (go_together<From, To>) {
        return std::make_unique<CastsOf<From, To>>(std::vector{elements});
      } else {
        return make_kernel([elements](const KernelArguments& a, Stream& stream) {
          enqueue_one<From, To>(elements, a, stream);
        });
      }
    });
  });
}

const KernelRegistration registration(cast_op, make);

}  // namespace
}  // namespace belfry::cuda
