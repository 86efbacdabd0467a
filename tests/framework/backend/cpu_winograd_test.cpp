#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "belfry/framework/backend/cpu/winograd/winograd_geometry.h"
#include "cpu_conv_testing.h"

namespace belfry::cpu {
namespace {

using Case = ConvCase;

const Conv2dOptions halving{.stride = {2, 2}};

const Case cases[] = {
    {{4, 8, 8, 32}, {3, 3, 32, 64}},
    {{16, 4, 4, 64}, {3, 3, 64, 64}},   // a tile is an image
    {{1, 31, 18, 16}, {3, 3, 16, 48}},  // tiles that are cut off; half a panel on AVX-512
    {{3, 15, 13, 16}, {3, 3, 16, 16}, Conv2dOptions{.padding = valid_padding}},
    {{2, 12, 12, 16},
     {3, 3, 16, 32},
     Conv2dOptions{.padding = Padding::explicit_amounts(2, 0, 4, 1)}},
    {{1, 64, 68, 16}, {3, 3, 16, 16}},  // several blocks of tiles
    {{2, 5, 8, 8, 16}, {3, 3, 3, 16, 32}, Conv3dOptions{}},
    {{4, 3, 10, 9, 32}, {3, 3, 3, 32, 16}, Conv3dOptions{.padding = valid_padding}},
    {{1, 2, 24, 8, 16},
     {3, 3, 3, 16, 16},
     Conv3dOptions{.padding = Padding::explicit_amounts(1, 2, 0, 1, 2, 0)}},
    {{2, 4, 12, 8, 16}, {1, 3, 3, 16, 16}, Conv3dOptions{}},
    // The first plane of results reads nothing.
    {{2, 4, 12, 8, 16},
     {1, 3, 3, 16, 16},
     Conv3dOptions{.padding = Padding::explicit_amounts(1, 2, 1, 1, 1, 1)}},
    {{4, 8, 8, 32}, {5, 5, 32, 64}},
    {{1, 21, 18, 16}, {5, 5, 16, 48}},
    {{2, 13, 14, 16}, {5, 5, 16, 16}, Conv2dOptions{.padding = valid_padding}},
    {{1, 12, 15, 16},
     {5, 5, 16, 32},
     Conv2dOptions{.padding = Padding::explicit_amounts(4, 0, 1, 5)}},
    {{1, 3, 12, 11, 16}, {3, 5, 5, 16, 16}, Conv3dOptions{}},
    {{2, 14, 13, 16}, {4, 4, 16, 32}},
    {{2, 19, 18, 32}, {2, 2, 32, 16}},
    // Windows of one row.
    {{4, 1, 200, 16}, {1, 5, 16, 32}},
    {{2, 9, 31, 16}, {1, 3, 16, 16}},
    {{3, 4, 50, 32}, {1, 4, 32, 16}, Conv2dOptions{.padding = valid_padding}},
    {{3, 2, 61, 16},
     {1, 5, 16, 48},
     Conv2dOptions{.padding = Padding::explicit_amounts(0, 0, 5, 1)}},
    {{1, 3, 2, 60, 16}, {3, 1, 5, 16, 16}, Conv3dOptions{}},
    // Windows that move by two.
    {{8, 16, 16, 32}, {4, 4, 32, 64}, halving},
    {{32, 8, 8, 16}, {4, 4, 16, 16}, halving},  // a tile is an image
    {{2, 35, 33, 16}, {4, 4, 16, 48}, halving},
    {{3, 28, 31, 16}, {4, 4, 16, 16}, Conv2dOptions{.stride = {2, 2}, .padding = valid_padding}},
    {{3, 30, 25, 16},
     {4, 4, 16, 32},
     Conv2dOptions{.stride = {2, 2}, .padding = Padding::explicit_amounts(3, 0, 2, 4)}},
    {{2, 31, 30, 16}, {5, 5, 16, 32}, halving},
    {{2, 30, 31, 16}, {6, 6, 16, 16}, halving},
    {{2, 3, 24, 26, 16}, {3, 4, 4, 16, 16}, Conv3dOptions{.stride = {1, 2, 2}}},
    // More around than the window is large.
    {{3, 24, 26, 16},
     {4, 4, 16, 16},
     Conv2dOptions{.stride = {2, 2}, .padding = Padding::explicit_amounts(6, 5, 5, 7)}},
    {{1, 3, 16, 16, 16},
     {3, 3, 3, 16, 16},
     Conv3dOptions{.padding = Padding::explicit_amounts(4, 3, 1, 1, 1, 1)}},
};

Array run_winograd(const Node& node, const std::vector<Array>& inputs, int threads) {
  auto stream = find_device("cpu")->make_stream();
  stream->activate(threads);
  auto kernel = find_kernel(node, threads);
  require(kernel && kernel->implementation() == "winograd", "not by Winograd's method: ", node);
  return run_kernel(*kernel, node, packed(*kernel, inputs, *stream)).front();
}

/// Root of the mean square of a - b over that of b.
double relative_error(const Array& a, const Array& b) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    error += (a.at(i) - b.at(i)) * (a.at(i) - b.at(i));
    size += b.at(i) * b.at(i);
  }
  return std::sqrt(error / size);
}

/// Largest of |a - b| over the largest of |b|.
double largest_error(const Array& a, const Array& b) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    error = std::max(error, std::abs(a.at(i) - b.at(i)));
    size = std::max(size, std::abs(b.at(i)));
  }
  return error / size;
}

std::vector<Array> as(DType dtype, const std::vector<Array>& arrays) {
  std::vector<Array> out;
  for (const Array& array : arrays) out.push_back(array.cast(dtype));
  return out;
}

/// The same in f64, by the sums of products that define it.
Array exactly(const std::vector<Array>& inputs, const Case& c, BuildConv build) {
  Graph graph;
  std::vector<Array> wide = as(DType::f64, inputs);
  Tensor built = build(inputs_like(graph, wide), c);
  return run_kernel(*make_reference_kernel(built.node()), built.node(), wide).front();
}

/// On each instruction set, with the same bits on any number of threads; if `by_team`, on an equal
/// one.
void check(const std::vector<Array>& inputs, const Case& c, BuildConv build, bool by_team = false) {
  SCOPED_TRACE(concat(c.x, " ", c.kernel));
  Graph graph;
  Tensor built = build(inputs_like(graph, inputs), c);
  const Node& node = built.node();
  Array expected = exactly(inputs, c, build);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_loops(*loops);
    SCOPED_TRACE(loops->isa);
    Array first = run_winograd(node, inputs, 1);
    for (int threads : {1, 2, 3}) {
      Array got = run_winograd(node, inputs, threads);
      EXPECT_LT(relative_error(got, expected), 3e-6);
      EXPECT_TRUE(identical(by_team ? run_winograd(node, inputs, threads) : first, got));
    }
  }
}

Array noise(const Shape& shape, std::uint64_t seed) { return random_array(shape, seed); }

TEST(Winograd, Forward) {
  for (const Case& c : cases) check({noise(c.x, 1), noise(c.kernel, 2)}, c, conv_forward);
}

TEST(Winograd, BiasAndRelu) {
  for (const Case& c : cases)
    check({noise(c.x, 1), noise(c.kernel, 2), noise({c.filters()}, 3)}, c, conv_with_bias_and_relu);
}

TEST(Winograd, GradInput) {
  for (const Case& c : cases) check({noise(c.output(), 1), noise(c.kernel, 2)}, c, conv_grad_input);
}

TEST(Winograd, GradKernel) {
  for (const Case& c : cases) check({noise(c.x, 1), noise(c.output(), 2)}, c, conv_grad_kernel);
}

/// Blocks of 96 tiles, four or more for each of two and of three threads, some of them uneven.
TEST(Winograd, GradKernelOfTeams) {
  for (const Case& c : {Case{{5, 64, 60, 16}, {3, 3, 16, 32}},
                        {{21, 1, 28, 30, 16}, {3, 3, 3, 16, 16}, Conv3dOptions{}},
                        {{72, 30, 32, 16}, {4, 4, 16, 16}, halving},
                        {{7, 2, 180, 16}, {1, 5, 16, 16}}}) {
    Array x = noise(c.x, 1), dy = noise(c.output(), 2);
    Graph graph;
    Tensor built = conv_grad_kernel(inputs_like(graph, {x, dy}), c);
    auto bytes = [&](int threads) { return find_kernel(built.node(), threads)->workspace().count; };
    EXPECT_EQ(bytes(2), 2 * bytes(1)) << concat(c.x);
    EXPECT_EQ(bytes(3), 3 * bytes(1)) << concat(c.x);
    check({x, dy}, c, conv_grad_kernel, true);
  }
}

/// The f32 kernel's result of the same numbers, rounded once, but for its own last bits: compilers
/// fuse products and sums as they like.
void expect_rounded_once(const std::vector<Array>& inputs, const Case& c, BuildConv build,
                         DType dtype) {
  double half_unit = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  std::vector<Array> narrow = as(dtype, inputs), wide = as(DType::f32, narrow);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_loops(*loops);
    SCOPED_TRACE(concat(c.x, " ", c.kernel, " ", dtype, " on ", loops->isa));
    Graph graph;
    Array got = run_winograd(build(inputs_like(graph, narrow), c).node(), narrow, 2);
    Array expected = run_winograd(build(inputs_like(graph, wide), c).node(), wide, 2);
    double largest = 0;
    for (std::int64_t i = 0; i < got.elements(); ++i)
      largest = std::max(largest, std::abs(expected.at(i)));
    for (std::int64_t i = 0; i < got.elements(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), half_unit * std::abs(expected.at(i)) + 2e-6 * largest)
          << i;
  }
}

TEST(Winograd, SixteenBits) {
  for (const Case& c : cases) {
    Array x = noise(c.x, 1), kernel = noise(c.kernel, 2), dy = noise(c.output(), 3);
    expect_rounded_once({x, kernel, noise({c.filters()}, 4)}, c, conv_with_bias_and_relu,
                        DType::f16);
    expect_rounded_once({dy, kernel}, c, conv_grad_input, DType::f16);
    for (DType dtype : {DType::f16, DType::bf16})
      expect_rounded_once({x, dy}, c, conv_grad_kernel, dtype);
  }
  // These go by the method in bf16 on every processor.
  for (const Case& c :
       {Case{{4, 8, 8, 32}, {3, 3, 32, 64}}, Case{{16, 4, 4, 64}, {3, 3, 64, 64}}}) {
    Array x = noise(c.x, 1), kernel = noise(c.kernel, 2), dy = noise(c.output(), 3);
    expect_rounded_once({x, kernel}, c, conv_forward, DType::bf16);
    expect_rounded_once({dy, kernel}, c, conv_grad_input, DType::bf16);
  }
}

/// The bounds that the README names, of instruction sets without fused products, too.
TEST(Winograd, ErrorsAreThoseOfTheReadme) {
  struct Row {
    std::int64_t window, stride, n, side, in, out;
    double forward, grad_input, grad_kernel;
    bool line = false;
  };
  for (const Row& row : {Row{3, 1, 1, 32, 64, 64, 0.9e-6, 0.9e-6, 0.9e-6},
                         {3, 1, 1, 16, 128, 128, 1.2e-6, 1.2e-6, 0.6e-6},
                         {3, 1, 4, 8, 256, 128, 1.7e-6, 1.2e-6, 0.6e-6},
                         {3, 1, 16, 4, 512, 32, 2.5e-6, 0.8e-6, 0.7e-6},
                         {5, 1, 4, 14, 32, 64, 0.95e-6, 1.2e-6, 1.9e-6},
                         {5, 1, 8, 4, 256, 32, 2.5e-6, 1.1e-6, 1.1e-6},
                         {4, 2, 4, 32, 64, 32, 1.7e-6, 0.75e-6, 0.95e-6},
                         {4, 2, 32, 8, 256, 16, 3.7e-6, 0.65e-6, 0.8e-6},
                         {5, 1, 4, 200, 128, 128, 0.62e-6, 0.62e-6, 1.05e-6, true}}) {
    Case c{{row.n, row.line ? 1 : row.side, row.side, row.in},
           {row.line ? 1 : row.window, row.window, row.in, row.out},
           Conv2dOptions{.stride = {row.stride, row.stride}}};
    Array x = noise(c.x, 1), kernel = noise(c.kernel, 2), dy = noise(c.output(), 3);
    auto expect_below = [&](double bound, const std::vector<Array>& inputs, BuildConv build) {
      Graph graph;
      Tensor built = build(inputs_like(graph, inputs), c);
      Array expected = exactly(inputs, c, build);
      for (const SimdLoops* loops : simd_choices()) {
        UsingSimd using_loops(*loops);
        SCOPED_TRACE(concat(c.x, " ", c.kernel, " on ", loops->isa));
        Array got = run_winograd(built.node(), inputs, 2);
        EXPECT_LT(relative_error(got, expected), bound);
        EXPECT_LT(largest_error(got, expected), 7.5e-6);
      }
    };
    expect_below(row.forward, {x, kernel}, conv_forward);
    expect_below(row.grad_input, {dy, kernel}, conv_grad_input);
    expect_below(row.grad_kernel, {x, dy}, conv_grad_kernel);
  }
}

TEST(Winograd, NaNReachesTheTilesThatReadIt) {
  Case c{{16, 8, 8, 16}, {3, 3, 16, 16}};
  Array x = Array::zeros(c.x);
  x.span<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  Graph graph;
  std::vector<Array> inputs{x, noise(c.kernel, 2), noise({16}, 3)};
  Tensor built = conv_with_bias_and_relu(inputs_like(graph, inputs), c);
  Array y = run_winograd(built.node(), inputs, 1);
  EXPECT_TRUE(std::isnan(y.at(0)));
  EXPECT_FALSE(std::isnan(y.at(y.elements() - 1)));
}

std::string_view implementation(const Case& c, KernelOptions options = {}) {
  Graph graph;
  Tensor y = conv_forward(inputs_like(graph, {Array(TensorType{c.x, DType::f32}),
                                              Array(TensorType{c.kernel, DType::f32})}),
                          c);
  return find_kernel(y.node(), options)->implementation();
}

/// An image of one row has none of those that every second phase of its gradient makes.
TEST(Winograd, APhaseWithoutResultsIsLeftToTheDirectMethod) {
  Case c{{64, 1, 64, 16}, {4, 4, 16, 16}, halving};
  Array dy = noise(c.output(), 1), kernel = noise(c.kernel, 2);
  Graph graph;
  const Node& node = conv_grad_input(inputs_like(graph, {dy, kernel}), c).node();
  EXPECT_EQ(find_kernel(node, 1)->implementation(), "onednn");
  expect_onednn_matches_reference(node, {dy, kernel});
}

/// One kernel in two windows that differ in their stride alone is packed twice.
TEST(Winograd, PacksAreOfOneWindowAndStride) {
  Case one{{16, 16, 16, 16}, {4, 4, 16, 16}}, two = one;
  two.options = halving;
  auto layouts = [](const Case& c, BuildConv build, const Shape& first) {
    Graph graph;
    const Node& node = build(inputs_like(graph, {Array(TensorType{first, DType::f32}),
                                                 Array(TensorType{c.kernel, DType::f32})}),
                             c)
                           .node();
    auto kernel = find_kernel(node, 1);
    EXPECT_EQ(kernel->implementation(), "winograd");
    return kernel->packed_inputs().at(0).layout;
  };
  std::set<std::string> distinct{
      layouts(one, conv_forward, one.x), layouts(two, conv_forward, two.x),
      layouts(one, conv_grad_input, one.output()), layouts(two, conv_grad_input, two.output())};
  EXPECT_EQ(distinct.size(), 4u);
}

/// The processor's own products of bf16 are two for one: tiles must save three quarters, and none
/// may reach outside, but for gradients of kernels.
TEST(Winograd, IsForFewerConvolutionsOfBf16) {
  auto applies = [](const Case& c, BuildConv build, const Shape& second, bool bf16_instructions) {
    Graph graph;
    Tensor y = build(inputs_like(graph, {Array(TensorType{c.x, DType::bf16}),
                                         Array(TensorType{second, DType::bf16})}),
                     c);
    auto direction =
        build == conv_forward ? WinogradDirection::forward : WinogradDirection::grad_kernel;
    return winograd_geometry(y.node(), direction, {}, bf16_instructions).has_value();
  };
  Case fits{{4, 8, 8, 16}, {3, 3, 16, 32}}, cut{{4, 8, 7, 16}, {3, 3, 16, 32}},
      larger{{8, 8, 8, 16}, {5, 5, 16, 32}};
  EXPECT_TRUE(applies(fits, conv_forward, fits.kernel, true));
  for (const Case& c : {cut, larger}) {
    EXPECT_FALSE(applies(c, conv_forward, c.kernel, true));
    EXPECT_TRUE(applies(c, conv_forward, c.kernel, false));
    EXPECT_TRUE(applies(c, conv_grad_kernel, c.output(), true));
  }
}

TEST(Winograd, IsForSmallWindowsThatMoveByOneOrTwo) {
  Case c{{4, 8, 8, 16}, {3, 3, 16, 32}};
  EXPECT_EQ(implementation(c), "winograd");
  EXPECT_EQ(implementation(c, {.exact_convolutions = true}), "onednn");
  for (const Case& other : {Case{{32, 16, 16, 16}, {3, 3, 16, 32}, halving},  // few are saved
                            {{9, 32, 32, 16}, {8, 8, 16, 32}, Conv2dOptions{.stride = {4, 4}}},
                            {{9, 32, 32, 16}, {7, 7, 16, 32}, halving},
                            {{32, 8, 8, 16}, {4, 4, 16, 32}, Conv2dOptions{.stride = {1, 2}}},
                            {{4, 8, 8, 16}, {3, 3, 16, 32}, Conv2dOptions{.dilation = {2, 2}}},
                            {{4, 8, 8, 16}, {3, 3, 8, 32}, Conv2dOptions{.groups = 2}},
                            {{4, 8, 8, 16}, {3, 5, 16, 32}},
                            {{9, 32, 32, 16}, {1, 2, 16, 32}},
                            {{9, 1, 32, 16}, {1, 4, 16, 32}, Conv2dOptions{.stride = {1, 2}}},
                            {{9, 32, 32, 16}, {5, 1, 16, 32}},
                            {{4, 8, 8, 16}, {7, 7, 16, 32}},
                            {{4, 8, 8, 24}, {3, 3, 24, 32}},  // channels
                            {{4, 8, 8, 16}, {3, 3, 16, 20}},
                            {{3, 8, 8, 16}, {3, 3, 16, 32}},            // few tiles
                            {{6, 4, 4, 16}, {5, 5, 16, 32}},            // 24; 27 would do
                            {{30, 8, 8, 16}, {4, 4, 16, 32}, halving},  // 30; 31 would do
                            {{1, 1, 142, 16}, {1, 5, 16, 32}},          // 71; 72 would do
                            {{32, 2, 3, 16}, {3, 3, 16, 32}}})          // mostly outside
    EXPECT_EQ(implementation(other), "onednn") << concat(other.x, " ", other.kernel);
  for (const Case& other : {Case{{7, 4, 4, 16}, {5, 5, 16, 32}},
                            {{31, 8, 8, 16}, {4, 4, 16, 32}, halving},
                            {{1, 1, 144, 16}, {1, 5, 16, 32}}})
    EXPECT_EQ(implementation(other), "winograd") << concat(other.x, " ", other.kernel);
}

}  // namespace
}  // namespace belfry::cpu
