#include <limits>

#include "belfry/framework/ops/sequence/ctc_rows.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Array whole(const Shape& shape, std::vector<std::int64_t> elements) {
  return Array::of(std::span<const std::int64_t>(elements), shape);
}

struct Batch {
  std::int64_t rows, frames, classes, max_length;
  float scale = 3;
  bool zero_infinity = false;
};

/// Logits, labels, logit lengths and label lengths; each row has one frame and one label less.
std::vector<Array> inputs_of(const Batch& b) {
  Array labels = random_integers({b.rows, b.max_length}, DType::i64, b.classes - 1, 2);
  for (std::int64_t& label : labels.span<std::int64_t>()) ++label;
  std::vector<std::int64_t> frames, counts;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    frames.push_back(std::max<std::int64_t>(b.frames - r, 0));
    counts.push_back(std::max<std::int64_t>(b.max_length - r, 0));
  }
  return {random_array({b.rows, b.frames, b.classes}, 1, -b.scale, b.scale), labels,
          whole({b.rows}, frames), whole({b.rows}, counts)};
}

/// Both ops against the reference, which computes in double.
void expect_match(const std::vector<Array>& inputs, bool zero_infinity = false) {
  Graph graph;
  CtcOptions options{.zero_infinity = zero_infinity};
  const Node& loss = apply(ctc_loss_op, inputs_like(graph, inputs), options);
  expect_simd_matches_reference(loss, inputs);
  auto kept = run_kernel(*make_reference_kernel(loss), loss, inputs);
  std::vector<Array> grad_inputs{random_array(inputs[2].shape(), 3),
                                 inputs[0],
                                 inputs[1],
                                 inputs[2],
                                 inputs[3],
                                 kept[1],
                                 kept[2]};
  const Node& grad = apply(ctc_loss_grad_op, inputs_like(graph, grad_inputs), options);
  expect_simd_matches_reference(grad, grad_inputs, 32);
}

TEST(SimdCtc, LossAndGradientMatchReference) {
  for (const Batch& b :
       {Batch{3, 12, 6, 4}, Batch{9, 60, 29, 20}, Batch{2, 5, 2, 0}, Batch{0, 5, 3, 2},
        Batch{2, 8, 1000, 3}, Batch{3, 12, 6, 4, 1e4f}, Batch{4, 4, 5, 4, 3, true}})
    expect_match(inputs_of(b), b.zero_infinity);
}

// A vector holds 16 states, of which a row has 2 l + 1. With 3 classes about every second neighbour
// is equal.
TEST(SimdCtc, RowsMayEndAnywhereInAVector) {
  for (std::int64_t max_length = 1; max_length <= 40;
       max_length += max_length < 10 || max_length > 21 ? 3 : 1)
    for (std::int64_t classes : {3, 17}) {
      SCOPED_TRACE(concat(max_length, " labels of ", classes, " classes"));
      expect_match(inputs_of({4, 2 * max_length + 4, classes, max_length}));
    }
}

TEST(SimdCtc, RowsThatJustFitOrDoNot) {
  std::vector<Array> inputs = inputs_of({.rows = 5, .frames = 12, .classes = 4, .max_length = 9});
  inputs[1] = whole({5, 9}, {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 2, 2, 3, 3, 1, 2, 3, 1, 1, 2, 2, 3,
                             3, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  inputs[2] = whole({5}, {9, 12, 11, 1, 0});
  inputs[3] = whole({5}, {9, 9, 9, 1, 0});
  expect_match(inputs, true);
}

TEST(SimdCtc, LogitsThatAreNotFinite) {
  for (float bad :
       {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (bool zero_infinity : {false, true}) {
      std::vector<Array> inputs =
          inputs_of({.rows = 3, .frames = 40, .classes = 5, .max_length = 12});
      auto logits = inputs[0].span<float>();
      for (std::size_t t = 0; t < 39; ++t) logits[(40 + t) * 5 + 1] = bad;  // row 1, class 1
      logits[(80 + 20) * 5 + 2] = bad;
      expect_match(inputs, zero_infinity);
    }
}

// The loss is some thousands here: added up in f32, alpha and beta would be off by 1e-3.
TEST(SimdCtc, LongRowsKeepTheirPrecision) {
  std::vector<Array> inputs =
      inputs_of({.rows = 1, .frames = 2000, .classes = 29, .max_length = 150});
  Graph graph;
  const Node& loss = apply(ctc_loss_op, inputs_like(graph, inputs), CtcOptions{});
  expect_simd_matches_reference(loss, inputs);
  auto kept = run_kernel(*find_kernel(loss, 1), loss, inputs);
  EXPECT_GT(kept[0].at(0), 2000);
  std::vector<Array> grad_inputs{
      Array::of({1.0f}, {1}), inputs[0], inputs[1], inputs[2], inputs[3], kept[1], kept[2]};
  const Node& grad = apply(ctc_loss_grad_op, inputs_like(graph, grad_inputs), CtcOptions{});
  expect_simd_matches_reference(grad, grad_inputs, 128);
}

TEST(SimdCtc, BadRowsAreNamed) {
  std::vector<Array> inputs = inputs_of({.rows = 2, .frames = 5, .classes = 3, .max_length = 2});
  inputs[1] = whole({2, 2}, {1, 2, 7, 1});
  Graph graph;
  const Node& loss = apply(ctc_loss_op, inputs_like(graph, inputs), CtcOptions{});
  auto kernel = find_kernel(loss, 2);
  EXPECT_THAT(
      [&] { run_kernel(*kernel, loss, inputs); },
      ThrowsMessage<Error>(HasSubstr("ctc_loss: label 7 at row 1, position 0 is outside 0..2")));
}

}  // namespace
}  // namespace belfry::cpu
