#include "belfry/framework/ops/ctc_rows.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Array whole(const Shape& shape, std::vector<std::int64_t> elements) {
  return Array::of(std::span<const std::int64_t>(elements), shape);
}

struct Batch {
  std::int64_t rows, frames, classes, places;
  float scale = 3;
  bool zero_infinity = false;
};

/// Logits, labels, logit lengths and label lengths; each row has one frame and one label less.
std::vector<Array> inputs_of(const Batch& b) {
  Array labels = random_integers({b.rows, b.places}, DType::i64, b.classes - 1, 2);
  for (std::int64_t& label : labels.span<std::int64_t>()) ++label;
  std::vector<std::int64_t> frames, counts;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    frames.push_back(std::max<std::int64_t>(b.frames - r, 0));
    counts.push_back(std::max<std::int64_t>(b.places - r, 0));
  }
  return {random_array({b.rows, b.frames, b.classes}, 1, -b.scale, b.scale), labels,
          whole({b.rows}, frames), whole({b.rows}, counts)};
}

TEST(SimdCtc, LossAndGradientMatchReference) {
  for (const Batch& b :
       {Batch{3, 12, 6, 4}, Batch{9, 60, 29, 20}, Batch{2, 5, 2, 0}, Batch{0, 5, 3, 2},
        Batch{2, 8, 1000, 3}, Batch{3, 12, 6, 4, 1e4f}, Batch{4, 4, 5, 4, 3, true}}) {
    std::vector<Array> inputs = inputs_of(b);
    Graph graph;
    CtcOptions options{.zero_infinity = b.zero_infinity};
    const Node& loss = apply(ctc_loss_op, inputs_like(graph, inputs), options);
    expect_simd_matches_reference(loss, inputs);
    auto kept = run_kernel(*make_reference_kernel(loss), loss, inputs);
    std::vector<Array> grad_inputs{
        random_array({b.rows}, 3), inputs[0], inputs[1], inputs[2], inputs[3], kept[1], kept[2]};
    const Node& grad = apply(ctc_loss_grad_op, inputs_like(graph, grad_inputs), options);
    expect_simd_matches_reference(grad, grad_inputs, 32);
  }
}

// The loss is some thousands here: added up in f32, alpha and beta would be off by 1e-3.
TEST(SimdCtc, LongRowsKeepTheirPrecision) {
  std::vector<Array> inputs = inputs_of({.rows = 1, .frames = 2000, .classes = 29, .places = 150});
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
  std::vector<Array> inputs = inputs_of({.rows = 2, .frames = 5, .classes = 3, .places = 2});
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
