#pragma once
// Runs a node's fast CPU kernel on every instruction set of this machine, on one thread and on two,
// and compares with the reference kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::cpu {

/// Chooses an instruction set for kernels made while it lives.
class UsingSimd {
 public:
  explicit UsingSimd(const SimdLoops& loops) : before_(simd()) { use_simd(loops); }
  ~UsingSimd() { use_simd(before_); }
  UsingSimd(const UsingSimd&) = delete;
  UsingSimd& operator=(const UsingSimd&) = delete;

 private:
  const SimdLoops& before_;
};

inline Array random_array(const Shape& shape, std::uint64_t seed, float low = -2, float high = 2) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(seed, "test"));
  for (float& x : out.span<float>()) x = random.uniform(low, high);
  return out;
}

inline Array random_integers(const Shape& shape, DType dtype, std::int64_t bound,
                             std::uint64_t seed) {
  Array out(shape, DType::i64);
  PhiloxStream random(philox_key(seed, "test"));
  for (std::int64_t& x : out.span<std::int64_t>())
    x = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  return out.cast(dtype);
}

/// Inputs of the graph with the types of `arrays`.
inline std::vector<Tensor> inputs_like(Graph& graph, const std::vector<Array>& arrays) {
  std::vector<Tensor> out;
  for (const Array& array : arrays)
    out.push_back(input(graph, "x" + std::to_string(graph.size()), array.type()));
  return out;
}

/// The node's outputs, then its mutated inputs, after one run on copies of `inputs`. Outputs and
/// the workspace are filled with NaN first; what lies behind the workspace must stay as it is.
inline std::vector<Array> run_kernel(Kernel& kernel, const Node& node,
                                     const std::vector<Array>& inputs) {
  auto poison = [](Array& array) {
    for (std::byte& b : array.raw_bytes()) b = std::byte{0xff};
  };
  std::vector<Array> copies, outputs;
  std::vector<void*> input_data, output_data;
  for (const Array& x : inputs) {
    copies.push_back(x.clone());
    input_data.push_back(copies.back().raw());
  }
  for (const TensorType& type : node.outputs()) {
    outputs.emplace_back(type);
    poison(outputs.back());
    output_data.push_back(outputs.back().raw());
  }
  constexpr std::size_t behind = 8192;
  Array workspace(Shape{kernel.workspace().count + std::int64_t{behind}}, DType::u8);
  poison(workspace);
  auto stream = find_device("cpu")->make_stream();
  kernel.run({input_data, output_data, workspace.raw()}, *stream);
  auto tail = workspace.raw_bytes().last(behind);
  EXPECT_TRUE(
      std::all_of(tail.begin(), tail.end(), [](std::byte b) { return b == std::byte{0xff}; }))
      << node.op().name << " writes beyond its workspace";
  for (int i : node.mutated()) outputs.push_back(copies[static_cast<std::size_t>(i)]);
  return outputs;
}

/// Empty, or where `got` is further from `expected` than `rounding` units of 2^-23 of the largest
/// magnitude in `expected`. NaN and infinities must agree; whole numbers and booleans, too.
inline std::string difference(const Array& expected, const Array& got, double rounding) {
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
  double tolerance = is_floating(expected.dtype()) ? rounding * 0x1p-23 * largest : 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    double e = expected.at(i), g = got.at(i);
    if (e == g || (std::isnan(e) && std::isnan(g)) || std::abs(e - g) <= tolerance) continue;
    return concat("element ", i, " of ", expected.type(), ": expected ", e, ", got ", g,
                  ", tolerance ", tolerance);
  }
  return "";
}

/// The output of a kernel with one where it takes the place of input `i`.
inline Array run_in_place(Kernel& kernel, const std::vector<Array>& inputs, int i) {
  std::vector<Array> copies;
  std::vector<void*> from;
  for (const Array& x : inputs) {
    copies.push_back(x.clone());
    from.push_back(copies.back().raw());
  }
  auto place = static_cast<std::size_t>(i);
  Array workspace(Shape{kernel.workspace().count}, DType::u8);
  auto stream = find_device("cpu")->make_stream();
  kernel.run({from, {&from[place], 1}, workspace.raw()}, *stream);
  return copies[place];
}

inline void expect_simd_matches_reference(const Node& node, const std::vector<Array>& inputs,
                                          double rounding = 8) {
  auto expected = run_kernel(*make_reference_kernel(node), node, inputs);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    SCOPED_TRACE(concat(to_string(node), " on ", loops->isa));
    auto one = find_kernel(node, 1), two = find_kernel(node, 2);
    ASSERT_TRUE(one && two) << "no fast kernel";
    ASSERT_EQ(one->implementation(), "simd");
    auto a = run_kernel(*one, node, inputs), b = run_kernel(*two, node, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(difference(expected[i], a[i], rounding), "") << "output " << i;
      EXPECT_TRUE(identical(a[i], b[i])) << "output " << i << " differs between 1 and 2 threads";
    }
    if (!node.op().in_place || node.outputs().size() != 1) continue;
    for (int i : node.op().in_place(node)) {
      if (node.input(i).type() != node.output()) continue;
      EXPECT_TRUE(identical(run_in_place(*two, inputs, i), a[0])) << "in place of input " << i;
    }
  }
}

}  // namespace belfry::cpu
