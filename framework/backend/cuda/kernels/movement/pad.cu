// pad: every word of the output is read from the input or is the value.

#include <cstring>

#include "belfry/framework/backend/cuda/kernels/movement/copy.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::cuda {
namespace {

/// Axes without margins are merged into those in front of them.
struct Margins {
  int rank = 0;
  std::int64_t out[Shape::max_rank], before[Shape::max_rank], in[Shape::max_rank];  // in words
};

template <class Word, class Index>
__global__ void pad_words(const Word* from, Word* to, Margins margins, Word value,
                          std::int64_t words) {
  std::int64_t number = thread_number();
  if (number >= words) return;
  auto i = static_cast<Index>(number);
  bool inside = true;
  std::int64_t at = 0, stride = 1;
  for (int axis = margins.rank - 1; axis >= 0; --axis) {
    auto size = static_cast<Index>(margins.out[axis]);
    Index above = i / size;
    std::int64_t position = static_cast<std::int64_t>(i - above * size) - margins.before[axis];
    inside = inside && position >= 0 && position < margins.in[axis];
    at += position * stride;
    stride *= margins.in[axis];
    i = above;
  }
  to[number] = inside ? from[at] : value;
}

Margins margins_of(const Shape& in, const Shape& out, const std::vector<std::int64_t>& before) {
  Margins m;
  for (int axis = 0; axis < in.rank(); ++axis) {
    bool padded = in[axis] != out[axis];
    if (padded || m.rank == 0) {
      m.out[m.rank] = m.in[m.rank] = 1;
      m.before[m.rank++] = padded ? before[axis] : 0;
    } else {
      m.before[m.rank - 1] *= in[axis];
    }
    m.out[m.rank - 1] *= out[axis];
    m.in[m.rank - 1] *= in[axis];
  }
  return m;
}

template <class Word>
std::unique_ptr<Kernel> kernel(const Margins& margins, const TensorType& y, const void* value) {
  Word word;
  for (std::size_t i = 0; i < sizeof(Word); i += size_of(y.dtype))
    std::memcpy(reinterpret_cast<std::byte*>(&word) + i, value, size_of(y.dtype));
  std::int64_t words = y.bytes() / static_cast<std::int64_t>(sizeof(Word));
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    auto function =
        words > INT32_MAX ? pad_words<Word, std::uint64_t> : pad_words<Word, std::uint32_t>;
    launch(stream, threads_for(words), function, a.input<Word>(0), a.output<Word>(0), margins, word,
           words);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const TensorType& y = node.output();
  const auto& o = node.as<PadOptions>();
  Margins margins = margins_of(node.input(0).shape(), y.shape, o.before);
  std::int64_t bytes = size_of(y.dtype);
  int last = margins.rank - 1;
  while (last >= 0 && bytes < 16
         && (margins.out[last] | margins.before[last] | margins.in[last]) % 2 == 0) {
    margins.out[last] /= 2, margins.before[last] /= 2, margins.in[last] /= 2;
    bytes *= 2;
  }
  return dispatch(y.dtype, [&](auto t) {
    using T = decltype(t);
    auto value = static_cast<T>(static_cast<compute_type<T>>(o.value));
    return dispatch_word(bytes,
                         [&](auto word) { return kernel<decltype(word)>(margins, y, &value); });
  });
}

const KernelRegistration registration(pad_op, make);

}  // namespace
}  // namespace belfry::cuda
