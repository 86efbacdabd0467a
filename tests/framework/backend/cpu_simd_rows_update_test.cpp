#include "../base/error_of.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/rows_update.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

/// A wide table with one look-up and a narrow one with two, of which indices come many times.
struct Problem {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<Array> arrays;

  Problem(int slots, bool with_step) {
    add(Array::scalar(0.01f));
    if (with_step) add(Array::scalar(std::int64_t{3}));
    add_table({5000, 37}, slots, {1200});
    add_table({300, 2, 2}, slots, {2000, 7});
  }
  void add(const Array& array) {
    arrays.push_back(array);
    inputs.push_back(input(graph, concat("x", arrays.size()), array.type()));
  }
  void add_variable(const Array& array) {
    arrays.push_back(array);
    inputs.push_back(Scope(graph).variable(concat("v", arrays.size()), {.shape = array.shape()}));
  }
  void add_table(const Shape& shape, int slots, const std::vector<std::int64_t>& lookups) {
    add_variable(random_array(shape, arrays.size()));
    for (int k = 0; k < slots; ++k) add_variable(random_array(shape, arrays.size(), 0.1f));
    for (std::int64_t count : lookups) {
      add(random_array(shape.with(0, count), arrays.size()));
      add(random_integers({count}, count == 7 ? DType::i32 : DType::i64, shape[0], arrays.size()));
    }
  }
  template <class O>
  Node& node(const OpDef& op, const O& options) {
    return apply(op, inputs, RowsUpdateOptions<O>{options, {1, 2}});
  }
};

TEST(SimdRowsUpdate, Sgd) {
  Problem p(0, false);
  expect_simd_matches_reference(p.node(sgd_rows_update_op, SgdUpdateOptions{}), p.arrays);
}

TEST(SimdRowsUpdate, Momentum) {
  for (bool nesterov : {false, true}) {
    Problem p(1, false);
    MomentumUpdateOptions o{.nesterov = nesterov, .weight_decay = 0.1, .lazy = true};
    expect_simd_matches_reference(p.node(momentum_rows_update_op, o), p.arrays);
  }
}

TEST(SimdRowsUpdate, Adam) {
  Problem p(2, true);
  expect_simd_matches_reference(p.node(adam_rows_update_op, AdamUpdateOptions{.lazy = true}),
                                p.arrays);
}

TEST(SimdRowsUpdate, Adagrad) {
  Problem p(1, false);
  expect_simd_matches_reference(p.node(adagrad_rows_update_op, AdagradUpdateOptions{}), p.arrays);
}

TEST(SimdRowsUpdate, Ftrl) {
  Problem p(2, false);
  FtrlUpdateOptions o{.l1 = 0.1, .l2 = 0.1, .lazy = true};
  expect_simd_matches_reference(p.node(ftrl_rows_update_op, o), p.arrays, 64);
}

TEST(SimdRowsUpdate, LeavesIdleRowsAlone) {
  Problem p(1, false);
  for (float& dy : p.arrays[3].span<float>()) dy = 0;
  Node& node = p.node(momentum_rows_update_op, MomentumUpdateOptions{.lazy = true});
  expect_simd_matches_reference(node, p.arrays);
  auto after = run_kernel(*find_kernel(node, 2), node, p.arrays);
  EXPECT_TRUE(identical(after[0], p.arrays[1]));
  EXPECT_TRUE(identical(after[1], p.arrays[2]));
  EXPECT_FALSE(identical(after[2], p.arrays[5]));
}

TEST(SimdRowsUpdate, AFalseConditionHoldsItBack) {
  Problem p(0, false);
  p.inputs.insert(p.inputs.begin() + 1, input(p.graph, "condition", {{}, DType::boolean}));
  p.arrays.insert(p.arrays.begin() + 1, Array::scalar(true));
  Node& node = p.node(sgd_rows_update_op, SgdUpdateOptions{});
  expect_simd_matches_reference(node, p.arrays);
  p.arrays[1] = Array::scalar(false);
  auto after = run_kernel(*find_kernel(node, 2), node, p.arrays);
  EXPECT_TRUE(identical(after[0], p.arrays[2]));
}

TEST(SimdRowsUpdate, AnIndexOutsideTheTableIsAnError) {
  Problem p(0, false);
  Node& node = p.node(sgd_rows_update_op, SgdUpdateOptions{});
  p.arrays[3].span<std::int64_t>()[1100] = 5000;
  EXPECT_THAT(
      error_of([&] { run_kernel(*find_kernel(node, 2), node, p.arrays); }),
      ::testing::HasSubstr("sgd_rows_update: index 5000 at position 1100 is outside 0..4999"));
}

}  // namespace
}  // namespace belfry::cpu
