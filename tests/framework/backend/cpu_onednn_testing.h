#pragma once
// Runs a node's kernel on oneDNN as a plan would, packed inputs and workspace included, and
// compares with the reference kernel.

#include "cpu_simd_testing.h"

namespace belfry::cpu {

/// Arrays of the node's packed inputs in place of the plain ones.
inline std::vector<Array> packed(const Kernel& kernel, const std::vector<Array>& inputs,
                                 Stream& stream) {
  std::vector<Array> out = inputs;
  for (const PackedInput& p : kernel.packed_inputs()) {
    Array& input = out[static_cast<std::size_t>(p.input)];
    Array plain = input.clone(), scratch(Shape{p.pack->workspace().count}, DType::u8);
    input = Array(Shape{p.size.count}, DType::u8);
    std::vector<void*> from{plain.raw()}, to{input.raw()};
    p.pack->run({from, to, scratch.raw()}, stream);
  }
  return out;
}

/// The node's output after one run on `threads` threads, in f32 where oneDNN lacks the type.
inline Array run_onednn(const Node& node, const std::vector<Array>& inputs, int threads) {
  auto stream = find_device("cpu")->make_stream();
  stream->activate(threads);
  auto kernel = find_kernel(node, {.threads = threads, .exact_convolutions = true});
  require(kernel && kernel->implementation().starts_with("onednn"), "no oneDNN kernel for ", node);
  return run_kernel(*kernel, node, packed(*kernel, inputs, *stream)).front();
}

/// Rounding that outputs may differ by, in units of 2^-23 of the largest magnitude: of sums in f32,
/// or of the one rounding to bf16 at the end.
inline double onednn_rounding(DType dtype) { return dtype == DType::bf16 ? 0x1p16 : 64; }

inline void expect_onednn_matches_reference(const Node& node, const std::vector<Array>& inputs) {
  std::vector<TensorType> types;
  for (const Array& a : inputs) types.push_back(a.type());
  SCOPED_TRACE(concat(node.op().name, " ", node.options(), " of ", join(types, ", ")));
  Array expected = run_kernel(*make_reference_kernel(node), node, inputs).front();
  for (int threads : {1, 2}) {
    Array got = run_onednn(node, inputs, threads);
    EXPECT_EQ(difference(expected, got, onednn_rounding(expected.dtype())), "");
    EXPECT_TRUE(identical(got, run_onednn(node, inputs, threads))) << "two runs differ";
  }
}

}  // namespace belfry::cpu
