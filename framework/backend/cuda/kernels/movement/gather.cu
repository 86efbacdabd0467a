// gather and embedding_lookup: rows of a table, moved in words.

#include "belfry/framework/backend/cuda/kernels/movement/copy.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

/// x [outer, size, width], indices [count], y [outer, count, width]; width in words.
struct Rows {
  std::int64_t size, count, width, words;  // words: of y
};

template <class Word, class Index>
__global__ void gather_rows(const Word* x, const Index* indices, Word* y, Rows rows,
                            FaultSite site) {
  std::int64_t i = thread_number();
  if (i >= rows.words) return;
  std::int64_t row = i / rows.width, outer = row / rows.count, position = row - outer * rows.count;
  std::int64_t index = indices[position];
  if (index < 0 || index >= rows.size) {
    report(site, position);
    y[i] = Word{};
  } else {
    y[i] = x[(outer * rows.size + index) * rows.width + (i - row * rows.width)];
  }
}

template <class Word, class Index>
std::unique_ptr<Kernel> kernel(Rows rows, std::shared_ptr<Faults::Reporter> reporter) {
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    launch(stream, threads_for(rows.words), gather_rows<Word, Index>, a.input<Word>(0),
           a.input<Index>(1), a.output<Word>(0), rows, reporter->site(a));
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  const TensorType& x = node.input(0).type();
  int axis = node.as<AxisOptions>().axis;
  Rows rows{.size = x.shape[axis],
            .count = node.input(1).shape().elements(),
            .width = 1,
            .words = node.output().shape.elements()};
  for (int i = axis + 1; i < x.shape.rank(); ++i) rows.width *= x.shape[i];
  std::int64_t bytes = size_of(x.dtype);
  for (; bytes < 16 && rows.width > 0 && rows.width % 2 == 0; bytes *= 2) {
    rows.width /= 2;
    rows.words /= 2;
  }
  auto reporter = gpu.faults.add(
      concat(node.op().name, ": the index at position "),
      rows.size == 0 ? " is into an axis of size 0" : concat(" is outside 0..", rows.size - 1));
  return dispatch_word(bytes, [&](auto word) {
    using Word = decltype(word);
    return node.input(1).dtype() == DType::i32 ? kernel<Word, std::int32_t>(rows, reporter)
                                               : kernel<Word, std::int64_t>(rows, reporter);
  });
}

const KernelRegistration registrations[] = {{gather_op, make}, {embedding_lookup_op, make}};

}  // namespace
}  // namespace belfry::cuda
