#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

Array numbered(const Shape& shape, DType dtype) {
  return dtype == DType::boolean ? random_integers(shape, dtype, 2, 1)
         : dtype == DType::u8    ? random_integers(shape, dtype, 256, 1)
                                 : random_integers(shape, dtype, 1 << 11, 1);
}

template <class Build>
void check(const Shape& shape, DType dtype, const Build& build) {
  Array x = numbered(shape, dtype);
  Graph graph;
  Tensor y = build(inputs_like(graph, {x})[0]);
  expect_simd_matches_reference(y.node(), {x}, 0);
}

constexpr DType of_each_size[] = {DType::u8, DType::bf16, DType::f32, DType::i64};

TEST(SimdMove, Transpose) {
  std::vector<std::pair<Shape, std::vector<int>>> cases{
      {{3, 5}, {1, 0}},
      {{257, 131}, {1, 0}},
      {{3, 5000}, {1, 0}},
      {{5000, 3}, {1, 0}},
      {{1, 20, 600, 2}, {0, 2, 3, 1}},
      {{1, 300}, {1, 0}},
      {{2, 33, 70, 3}, {0, 3, 1, 2}},
      {{2, 3, 33, 70}, {0, 2, 3, 1}},
      {{4, 5, 6, 7}, {3, 2, 1, 0}},
      {{4, 50, 8, 16}, {0, 2, 1, 3}},
      {{40, 2, 9000}, {1, 0, 2}},
      {{0, 3, 4}, {2, 1, 0}},
      {{3, 0, 4}, {2, 0, 1}},
      {{2, 1, 3, 1, 2, 1, 2, 3}, {7, 5, 3, 1, 6, 4, 2, 0}}};
  for (const auto& [shape, permutation] : cases)
    for (DType dtype : of_each_size)
      check(shape, dtype, [&, p = permutation](Tensor x) { return transpose(x, p); });
}

TEST(SimdMove, Slice) {
  std::vector<std::pair<Shape, SliceOptions>> cases{
      {{10}, {.begin = {3}, .size = {4}}},
      {{100'000}, {.begin = {3}, .size = {33'333}, .strides = {3}}},
      {{30, 40, 64}, {.begin = {0, 7, 0}, .size = {30, 20, 64}}},
      {{30, 40, 64}, {.begin = {5, 0, 0}, .size = {20, 40, 64}}},
      {{30, 40, 64}, {.begin = {1, 2, 3}, .size = {14, 13, 12}, .strides = {2, 3, 5}}},
      {{30, 40}, {.begin = {0, 39}, .size = {30, 1}}},
      {{30, 40}, {.begin = {30, 0}, .size = {0, 40}}}};
  for (const auto& [shape, options] : cases)
    for (DType dtype : of_each_size)
      check(shape, dtype, [&, o = options](Tensor x) { return slice(x, o); });
}

TEST(SimdMove, Pad) {
  std::vector<std::pair<Shape, PadOptions>> cases{
      {{5}, {.before = {2}, .after = {3}}},
      {{8, 30, 30, 16}, {.before = {0, 2, 1, 0}, .after = {0, 1, 2, 0}, .value = 7}},
      {{40, 1}, {.before = {0, 1}, .after = {0, 1}, .value = 1}},
      {{0, 4}, {.before = {3, 0}, .after = {0, 0}, .value = 9}},
      {{300, 300}, {.before = {1, 1}, .after = {1, 1}}}};
  for (const auto& [shape, options] : cases)
    for (DType dtype : of_each_size)
      check(shape, dtype, [&, o = options](Tensor x) { return pad(x, o); });
}

TEST(SimdMove, Concat) {
  for (int axis : {0, 1, 2})
    for (DType dtype : {DType::boolean, DType::f16, DType::f32, DType::f64}) {
      std::vector<Array> parts;
      for (std::int64_t size : {3, 1, 0, 64})
        parts.push_back(numbered(Shape{20, 30, 40}.with(axis, size), dtype));
      Graph graph;
      Tensor y = concat(inputs_like(graph, parts), axis);
      expect_simd_matches_reference(y.node(), parts, 0);
    }
}

TEST(SimdMove, ArgmaxAndArgminOfRows) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Array> inputs{random_array({7}, 1),       random_array({1000, 10}, 2),
                            random_array({5, 3, 1}, 3), random_array({40, 999}, 4),
                            random_array({0, 4}, 5),    Array::zeros({3, 33}, DType::f32)};
  for (std::int64_t size : {63, 64, 65}) {
    inputs.push_back(random_array({4, size}, 6));
    auto x = inputs.back().span<float>();
    auto end = static_cast<std::ptrdiff_t>(size);
    x[0] = nan;  // first, last and in the middle, twice
    x[static_cast<std::size_t>(2 * size - 1)] = nan;
    x[static_cast<std::size_t>(2 * size + 7)] = x[static_cast<std::size_t>(2 * size + 9)] = nan;
    std::fill(x.end() - end, x.end(), -std::numeric_limits<float>::infinity());
  }
  inputs[3].span<float>()[500] = nan;
  inputs[3].span<float>()[400] = nan;
  inputs[3].span<float>()[1700] = std::numeric_limits<float>::infinity();
  inputs[5].span<float>()[40] = -0.f;
  for (const Array& x : inputs)
    for (auto* op : {argmax, argmin}) {
      Graph graph;
      Tensor y = op(inputs_like(graph, {x})[0], -1);
      expect_simd_matches_reference(y.node(), {x}, 0);
    }
}

}  // namespace
}  // namespace belfry::cpu
