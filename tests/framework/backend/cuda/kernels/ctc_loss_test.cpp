#include <array>
#include <cmath>

#include "belfry/framework/ops/ops.h"
#include "on_gpu.h"

namespace belfry {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Batch {
  DType dtype = DType::f32;
  std::int64_t rows = 3, frames = 9, classes = 6, max_length = 4;
  double scale = 3;  // logits are in [-scale, scale)
  CtcOptions options = {};
};

Array whole_numbers(const Shape& shape, std::int64_t first, std::int64_t step) {
  Array out(shape, DType::i64);
  for (std::int64_t& x : out.span<std::int64_t>()) x = first, first += step;
  return out;
}

/// Inputs whose rows have all frames and labels, one of each less, and so on.
std::map<std::string, Array> inputs_of(const Batch& b) {
  DType wide = b.dtype == DType::f64 ? DType::f64 : DType::f32;
  double first = b.options.blank == 0 ? 1 : 0;  // else the blank is the last class
  Array labels = numbers({b.rows, b.max_length}, DType::i64, first,
                         first + static_cast<double>(b.classes - 1));
  return {{"logits", numbers({b.rows, b.frames, b.classes}, b.dtype, -b.scale, b.scale)},
          {"labels", labels},
          {"frames", whole_numbers({b.rows}, b.frames, -1)},
          {"counts", whole_numbers({b.rows}, b.max_length, -1)},
          {"dy", numbers({b.rows}, wide, .5, 2)}};
}

/// The loss and its gradient.
std::vector<Tensor> outputs(Graph& graph, const std::map<std::string, Array>& inputs,
                            const CtcOptions& options) {
  auto in = [&](const char* name) { return input(graph, name, inputs.at(name).type()); };
  Tensor logits = in("logits");
  Tensor loss = ctc_loss(logits, in("labels"), in("frames"), in("counts"), options);
  return {loss, gradients(loss, {&logits, 1}, in("dy"))[0]};
}

double loss_difference(const Batch& b) {
  Graph graph;
  auto inputs = inputs_of(b);
  return difference_on_gpu(outputs(graph, inputs, b.options), inputs);
}

TEST(CudaCtcLoss, EveryTypeAndSize) {
  for (DType dtype : floating_types) {
    for (std::int64_t classes : {2, 6, 33, 1000})
      EXPECT_LE(loss_difference({.dtype = dtype, .frames = 12, .classes = classes}),
                allowed(dtype, 32))
          << to_string(dtype) << " " << classes << " classes";
    EXPECT_LE(loss_difference({.dtype = dtype, .max_length = 2, .options = {.blank = -1}}),
              allowed(dtype, 32));
  }
  EXPECT_EQ(loss_difference({.rows = 0}), 0);
  EXPECT_LE(loss_difference({.rows = 9, .max_length = 8, .options = {.zero_infinity = true}}),
            allowed(DType::f32, 32));  // some rows have no labels, one has one frame
  EXPECT_LE(loss_difference({.rows = 1, .max_length = 0}), allowed(DType::f32, 32));
}

// More states than a block has threads, and more than shared memory holds.
TEST(CudaCtcLoss, LongLabels) {
  for (std::int64_t max_length : {127, 128, 200, 511, 512, 700})
    EXPECT_LE(loss_difference({.rows = 2,
                               .frames = max_length + 60,
                               .classes = 40,
                               .max_length = max_length,
                               .scale = 1}),
              allowed(DType::f32, 64))
        << max_length << " labels";
}

TEST(CudaCtcLoss, HugeLogits) {
  for (double scale : {1e4, 1e30})
    EXPECT_LE(loss_difference({.scale = scale}), allowed(DType::f32, 32)) << scale;
}

TEST(CudaCtcLoss, LabelsThatDoNotFitMayCountZero) {
  EXPECT_LE(loss_difference({.frames = 4, .max_length = 4, .options = {.zero_infinity = true}}),
            allowed(DType::f32, 32));
  Graph graph;
  auto inputs = inputs_of({.frames = 4});
  for (std::int64_t& n : inputs.at("frames").span<std::int64_t>()) n = 1;
  auto got = evaluate(outputs(graph, inputs, {.zero_infinity = true}), inputs, {.device = "cuda"});
  EXPECT_EQ(got[0].at(0), 0);
  EXPECT_EQ(got[0].at(1), 0);
  for (std::int64_t i = 0; i < got[1].elements(); ++i) EXPECT_EQ(got[1].at(i), 0);
}

TEST(CudaCtcLoss, NanOfARowIsNanAndPaddingIsNotRead) {
  Graph graph;
  auto inputs = inputs_of({});
  auto logits = inputs.at("logits").span<float>();
  logits[2] = static_cast<float>(nan);  // row 0, frame 0
  for (std::size_t k = 0; k < 6; ++k)   // row 1, frame 8, behind its length
    logits[(9 + 8) * 6 + k] = static_cast<float>(nan);
  std::vector<Tensor> wanted = outputs(graph, inputs, {});
  EXPECT_LE(difference_on_gpu(wanted, inputs), allowed(DType::f32, 32));
  auto got = evaluate(wanted, inputs, {.device = "cuda"});
  EXPECT_TRUE(std::isnan(got[0].at(0)));
  EXPECT_TRUE(std::isfinite(got[0].at(1)));
  EXPECT_EQ(got[1].at((9 + 8) * 6), 0);
}

void expect_error(const char* operand, std::size_t at, std::int64_t value, const char* message) {
  Graph graph;
  auto inputs = inputs_of({});
  inputs.at(operand).span<std::int64_t>()[at] = value;
  try {
    evaluate(outputs(graph, inputs, {}), inputs, {.device = "cuda"});
    ADD_FAILURE() << operand << " " << value << ": no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(CudaCtcLoss, BadRowsAreAnError) {
  const char* label = "ctc_loss: a label at row 1 is outside 0..5 or the blank, 0,";
  for (std::int64_t value : {-1, 0, 6}) expect_error("labels", 5, value, label);
  expect_error(
      "frames", 2, 10,
      "ctc_loss: a length at row 2 is outside: logit lengths are 0..9, label lengths 0..4");
  expect_error("frames", 0, -1, "ctc_loss: a length at row 0");
  expect_error("counts", 1, 5, "ctc_loss: a length at row 1");
  expect_error("counts", 1, -1, "ctc_loss: a length at row 1");
}

// Four labels, of which two neighbours are equal.
TEST(CudaCtcLoss, RepeatsNeedAFrameMore) {
  auto run = [](std::int64_t frames) {
    Graph graph;
    auto inputs = inputs_of({});
    inputs.at("frames").span<std::int64_t>()[0] = frames;
    for (std::size_t i = 0; i < 4; ++i)
      inputs.at("labels").span<std::int64_t>()[i] = std::array{1, 3, 3, 1}[i];
    return evaluate(outputs(graph, inputs, {}), inputs, {.device = "cuda"})[0].at(0);
  };
  EXPECT_TRUE(std::isfinite(run(5)));
  try {
    run(4);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("ctc_loss: the labels at row 0 need more frames than its logit length (one "
                        "for each label and one more between equal neighbours)"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace belfry
