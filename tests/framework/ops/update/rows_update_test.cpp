// Covers rows_update.cpp and the *_rows_update ops: layout, shape rule, reference kernels. That
// they have the bits of whole updates is tested in
// tests/framework/compiler/update_by_rows_test.cpp.
#include "belfry/framework/ops/update/rows_update.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "../../base/error_of.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<double>;

Values values(const Array& a) {
  Values out;
  for (std::int64_t i = 0; i < a.elements(); ++i) out.push_back(a.at(i));
  return out;
}

std::vector<TensorType> types_of(const std::vector<Array>& arrays) {
  std::vector<TensorType> out;
  for (const Array& a : arrays) out.push_back(a.type());
  return out;
}

void run(const OpDef& op, const Options& options, std::vector<Array>& arrays) {
  std::vector<ArrayView> views;
  for (Array& a : arrays) views.push_back({a.type(), a.raw()});
  auto types = types_of(arrays);
  EXPECT_TRUE(op.shape({op.name, types, options}).empty());
  op.reference({op.name, views, {}, options});
}

// Three rows of two; row 2 is looked up twice, row 1 not at all.
std::vector<Array> descent(std::vector<std::int64_t> indices = {2, 0, 2}) {
  return {Array::scalar(0.5f), Array::of({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2}),
          Array::of({1.0, 2.0, 4.0, 8.0, 16.0, 32.0}, {3, 2}),
          Array::of(std::span<const std::int64_t>(indices), {3})};
}

TEST(RowsLayout, SaysWhereInputsLie) {
  RowsLayout layout = rows_layout(2, 1, {1, 2}, 2 + 4 + 6);
  EXPECT_FALSE(layout.condition);
  ASSERT_EQ(layout.groups.size(), 2u);
  EXPECT_EQ(layout.groups[0].variable, 2);
  EXPECT_EQ(layout.groups[0].slot(0), 3);
  EXPECT_EQ(layout.groups[0].rows(0), 4);
  EXPECT_EQ(layout.groups[0].indices(0), 5);
  EXPECT_EQ(layout.groups[1].variable, 6);
  EXPECT_EQ(layout.groups[1].rows(1), 10);
  EXPECT_EQ(layout.groups[1].indices(1), 11);
  layout = rows_layout(2, 1, {1, 2}, 2 + 1 + 4 + 6);
  EXPECT_TRUE(layout.condition);
  EXPECT_EQ(layout.groups[1].indices(1), 12);
  EXPECT_THAT(mutated_inputs(layout), ElementsAre(3, 4, 7, 8));
}

TEST(RowsUpdate, ChangesTheRowsThatWereLookedUp) {
  auto arrays = descent();
  run(sgd_rows_update_op, RowsUpdateOptions<SgdUpdateOptions>{{}, {1}}, arrays);
  EXPECT_THAT(values(arrays[1]), ElementsAre(-1, -2, 3, 4, 5 - 8.5, 6 - 17));
}

TEST(RowsUpdate, SumsLookups) {
  auto arrays = descent();
  arrays.push_back(Array::of({0.5, 1.5}, {1, 1, 2}));
  arrays.push_back(Array::of({std::int32_t{1}}, {1, 1}));
  run(sgd_rows_update_op, RowsUpdateOptions<SgdUpdateOptions>{{}, {2}}, arrays);
  EXPECT_THAT(values(arrays[1]), ElementsAre(-1, -2, 2.75, 3.25, 5 - 8.5, 6 - 17));
}

TEST(RowsUpdate, AFalseConditionHoldsItBack) {
  for (bool holds : {false, true}) {
    auto arrays = descent();
    arrays.insert(arrays.begin() + 1, Array::scalar(holds));
    run(sgd_rows_update_op, RowsUpdateOptions<SgdUpdateOptions>{{}, {1}}, arrays);
    EXPECT_EQ(arrays[2].at(0), holds ? -1 : 1);
  }
}

// A row whose gradients cancel is idle: its momentum waits.
TEST(RowsUpdate, LazyRulesLeaveRowsWithoutAGradientAlone) {
  auto arrays = descent({2, 2, 0});
  arrays[2] = Array::of({1.0, 2.0, -1.0, -2.0, 4.0, 0.0}, {3, 2});
  arrays.insert(arrays.begin() + 2, Array::of({1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, {3, 2}));
  RowsUpdateOptions<MomentumUpdateOptions> o{{.momentum = 0.5, .lazy = true}, {1}};
  run(momentum_rows_update_op, o, arrays);
  EXPECT_THAT(values(arrays[2]), ElementsAre(4.5, 0.5, 1, 1, 1, 1));
  EXPECT_THAT(values(arrays[1]), ElementsAre(1 - 2.25, 2 - 0.25, 3, 4, 5, 6));
}

TEST(RowsUpdate, NanIsAGradient) {
  auto arrays = descent();
  arrays[2] = Array::of({0.0, 0.0, std::nan(""), 0.0, 0.0, 0.0}, {3, 2});
  run(sgd_rows_update_op, RowsUpdateOptions<SgdUpdateOptions>{{}, {1}}, arrays);
  EXPECT_TRUE(std::isnan(arrays[1].at(0)));
  EXPECT_EQ(arrays[1].at(1), 2);
}

TEST(RowsUpdate, AnIndexOutsideTheTableIsAnError) {
  auto arrays = descent({2, 0, 3});
  EXPECT_THAT(error_of([&] {
                run(sgd_rows_update_op, RowsUpdateOptions<SgdUpdateOptions>{{}, {1}}, arrays);
              }),
              HasSubstr("sgd_rows_update: index 3 at position 2 is outside 0..2"));
}

TEST(RowsUpdate, ErrorsSayWhichTypeDoesNotFit) {
  auto error = [](std::vector<Array> arrays) {
    auto types = types_of(arrays);
    Options options(RowsUpdateOptions<SgdUpdateOptions>{{}, {1}});
    return error_of([&] { sgd_rows_update_op.shape({"sgd_rows_update", types, options}); });
  };
  auto arrays = descent();
  arrays[2] = Array::zeros({2, 2}, DType::f64);
  EXPECT_THAT(error(arrays),
              HasSubstr("the gradient of look-up 0 is f64[2, 2]; expected f64[3, 2]"));
  arrays = descent();
  arrays[1] = Array::zeros({3, 2}, DType::i64);
  EXPECT_THAT(error(arrays), HasSubstr("the variable is i64[3, 2]; expected a floating table"));
  arrays = descent();
  arrays[0] = Array::scalar(0.5);
  EXPECT_THAT(error(arrays), HasSubstr("the learning rate is f64[]; expected f32[]"));
}

TEST(RowsForm, IsThatOfRulesWhoseOptionsAllowIt) {
  EXPECT_EQ(rows_form(lamb_update_op), nullptr);
  EXPECT_EQ(rows_form(rmsprop_update_op), nullptr);
  EXPECT_EQ(&rows_form(adam_update_op)->rows_update, &adam_rows_update_op);
  using namespace update;
  EXPECT_TRUE(Sgd<float>::keeps_idle_rows({}, 2));
  EXPECT_FALSE(Sgd<float>::keeps_idle_rows({.weight_decay = 0.1}, 2));
  EXPECT_TRUE(Sgd<float>::keeps_idle_rows({.weight_decay = 0.1}, 1));
  EXPECT_TRUE(Adagrad<float>::keeps_idle_rows({}, 1));
  EXPECT_FALSE(Adam<float>::keeps_idle_rows({}, 2));
  EXPECT_TRUE(Adam<float>::keeps_idle_rows({.lazy = true}, 2));
  EXPECT_FALSE(Ftrl<float>::keeps_idle_rows({.lazy = true}, 1));  // rows of one axis are no rows
}

// The premise of it all, for numbers of all magnitudes.
TEST(RowsForm, AGradientOfZeroChangesNoBit) {
  for (float variable : {0.0f, -0.0f, 1.0f, -3e38f, 1e-45f, INFINITY, NAN})
    for (float accumulator : {1e-30f, 0.1f, 3e38f, INFINITY}) {
      float after = variable, slot = accumulator;
      update::Adagrad<float>{0.1f}.apply<StdMath>(after, 0.0f, &slot);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(after), std::bit_cast<std::uint32_t>(variable));
      EXPECT_EQ(slot, accumulator);
      after = variable;
      update::Sgd<float>{0.1f, 0.0f}.apply<StdMath>(after, 0.0f, nullptr);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(after), std::bit_cast<std::uint32_t>(variable));
    }
}

}  // namespace
}  // namespace belfry
