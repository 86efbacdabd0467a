// Covers recurrent.cpp, recurrent_grad.cpp and recurrence.cpp.
#include "belfry/framework/ops/recurrent/recurrent.h"

#include <cmath>

#include "../support.h"

namespace belfry::testing {
namespace {

using RC = RecurrentCell;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr RC cells[] = {RC::lstm, RC::gru, RC::tanh, RC::relu};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

auto near(const std::vector<double>& expected) { return Pointwise(DoubleNear(1e-12), expected); }

// ---- one unit, two steps, by hand

TEST(Recurrent, LstmByHand) {
  Graph graph;
  Tensor z = tensor(graph, {1, 2, 4}, {0.1, 0.2, 0.3, 0.4, -0.5, 0.6, -0.7, 0.8});
  Tensor kernel = tensor(graph, {1, 4}, {1.0, -2.0, 3.0, 0.5});
  Recurrence r = recurrent({.z = z, .kernel = kernel});
  double c1 = sigmoid(0.1) * std::tanh(0.3), h1 = sigmoid(0.4) * std::tanh(c1);
  double c2 = sigmoid(0.6 - 2 * h1) * c1 + sigmoid(-0.5 + h1) * std::tanh(-0.7 + 3 * h1);
  double h2 = sigmoid(0.8 + 0.5 * h1) * std::tanh(c2);
  EXPECT_THAT(values(r.y), near({h1, h2}));
  EXPECT_THAT(values(r.final.h), near({h2}));
  EXPECT_THAT(values(r.final.c), near({c2}));
}

TEST(Recurrent, GruByHand) {
  Graph graph;
  Tensor z = tensor(graph, {1, 1, 3}, {0.1, 0.2, 0.3});
  Tensor kernel = tensor(graph, {1, 3}, {1.0, -2.0, 3.0}),
         bias = tensor(graph, {3}, {0.5, 0.25, -1.0});
  Recurrence r = recurrent(
      {.z = z, .kernel = kernel, .bias = bias, .initial = {.h = tensor(graph, {1, 1}, {0.5})}},
      {.cell = RC::gru});
  double update = sigmoid(0.1 + 0.5 + 0.5), reset = sigmoid(0.2 - 1 + 0.25);
  double fresh = std::tanh(0.3 + reset * (1.5 - 1));
  EXPECT_THAT(values(r.y), near({(1 - update) * fresh + update * 0.5}));
  EXPECT_FALSE(r.final.c.defined());
}

TEST(Recurrent, PlainUnitsByHand) {
  Graph graph;
  Tensor z = tensor(graph, {1, 3, 1}, {1.0, -5.0, 2.0}), kernel = tensor(graph, {1, 1}, {3.0});
  EXPECT_THAT(values(recurrent({.z = z, .kernel = kernel}, {.cell = RC::relu}).y), near({1, 0, 2}));
  double first = std::tanh(2.0), second = std::tanh(-5 + 3 * first);
  EXPECT_THAT(values(recurrent({.z = z, .kernel = kernel}, {.cell = RC::tanh, .reverse = true}).y),
              near({std::tanh(1 + 3 * second), second, first}));
}

// ---- lengths

struct Operands {
  Tensor z, kernel, bias;
  RecurrentState initial;
};

Operands operands(Graph& graph, RC cell, std::int64_t n, std::int64_t t, std::int64_t units) {
  std::int64_t width = recurrent_gates(cell) * units;
  Operands o{.z = constant(graph, noise({n, t, width}, 1).cast(DType::f64)),
             .kernel = constant(graph, noise({units, width}, 2).cast(DType::f64)),
             .bias = constant(graph, noise({width}, 3).cast(DType::f64)),
             .initial = {.h = constant(graph, noise({n, units}, 4).cast(DType::f64))}};
  if (cell == RC::lstm) o.initial.c = constant(graph, noise({n, units}, 5).cast(DType::f64));
  return o;
}

// To the bit: what a row gives does not depend on padding, nor on other rows.
TEST(Recurrent, PaddingChangesNothing) {
  constexpr std::int64_t n = 3, t = 5, units = 2, lengths[] = {5, 2, 0};
  for (RC cell : cells)
    for (bool reverse : {false, true}) {
      SCOPED_TRACE(concat(to_string(cell), reverse ? ", reverse" : ""));
      Graph graph;
      Operands o = operands(graph, cell, n, t, units);
      RecurrentOptions options{.cell = cell, .reverse = reverse};
      Recurrence all = recurrent({.z = o.z,
                                  .kernel = o.kernel,
                                  .bias = o.bias,
                                  .initial = o.initial,
                                  .lengths = tensor<std::int64_t>(graph, {n}, {5, 2, 0})},
                                 options);
      Tensor weight = constant(graph, noise({n, t, units}, 6).cast(DType::f64));
      std::vector<double> y = values(all.y), h = values(all.final.h),
                          dz = values(gradients(sum(all.y * weight), {{o.z}})[0]);
      std::int64_t width = o.z.size(2);
      for (std::int64_t row = 0; row < n; ++row) {
        std::int64_t length = lengths[row];
        auto of_row = [&](const Tensor& x) {
          return x.defined() ? slice(x, {.begin = {row, 0}, .size = {1, units}}) : x;
        };
        Tensor z = slice(o.z, {.begin = {row, 0, 0}, .size = {1, length, width}});
        Recurrence alone = recurrent({.z = z,
                                      .kernel = o.kernel,
                                      .bias = o.bias,
                                      .initial = {of_row(o.initial.h), of_row(o.initial.c)}},
                                     options);
        std::vector<double> expected = values(alone.y);
        expected.resize(t * units);
        EXPECT_THAT(std::vector(y.begin() + row * t * units, y.begin() + (row + 1) * t * units),
                    ElementsAreArray(expected));
        EXPECT_THAT(std::vector(h.begin() + row * units, h.begin() + (row + 1) * units),
                    ElementsAreArray(values(alone.final.h)));
        Tensor part = slice(weight, {.begin = {row, 0, 0}, .size = {1, length, units}});
        expected = values(gradients(sum(alone.y * part), {{z}})[0]);
        expected.resize(t * width);
        EXPECT_THAT(std::vector(dz.begin() + row * t * width, dz.begin() + (row + 1) * t * width),
                    ElementsAreArray(expected));
      }
    }
}

TEST(Recurrent, BadLengthsAreNamed) {
  Graph graph;
  Operands o = operands(graph, RC::tanh, 2, 3, 1);
  auto run = [&](std::initializer_list<std::int64_t> lengths) {
    return error_of([&] {
      values(recurrent({.z = o.z, .kernel = o.kernel, .lengths = tensor(graph, {2}, lengths)},
                       {.cell = RC::tanh})
                 .y);
    });
  };
  EXPECT_EQ(run({3, 0}), "no error");
  EXPECT_THAT(run({3, 4}), HasSubstr("recurrent: length 4 at row 1 is outside 0..3; it counts"));
  EXPECT_THAT(run({-1, 3}), HasSubstr("recurrent: length -1 at row 0 is outside 0..3; it counts"));
}

// ---- the check of all ops

struct Form {
  std::int64_t n, t, units;
  bool reverse, bias, initial, lengths;
  friend void PrintTo(const Form& f, std::ostream* out) {
    *out << f.n << " x " << f.t << " x " << f.units << (f.reverse ? " reverse" : "");
  }
};

void check_cell(RC cell, const Form& f) {
  std::int64_t width = recurrent_gates(cell) * f.units, c = cell == RC::lstm ? 1 : 0;
  Array lengths(Shape{f.n}, DType::i64);
  for (std::int64_t row = 0; row < f.n; ++row)
    lengths.span<std::int64_t>()[row] = (f.t + row) % (f.t + 1);
  OpCheck check;
  check.inputs = {noise({f.n, f.t, width}, 1), noise_between(-0.3, 0.3, {f.units, width}, 2)};
  if (f.bias) check.inputs.push_back(noise({width}, 3));
  for (std::int64_t i = 0; f.initial && i <= c; ++i)
    check.inputs.push_back(noise({f.n, f.units}, 4 + i));
  check.inputs.push_back(lengths);
  check.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
    RecurrentOperands o{.z = in[0], .kernel = in[1]};
    std::size_t next = 2;
    if (f.bias) o.bias = in[next++];
    if (f.initial) o.initial.h = in[next++];
    if (f.initial && c) o.initial.c = in[next++];
    if (f.lengths) o.lengths = in[next];
    Recurrence r = recurrent(o, {.cell = cell, .reverse = f.reverse});
    std::vector<Tensor> out{r.y, r.final.h};
    if (c) out.push_back(r.final.c);
    return out;
  };
  check.rounding = 256;
  EXPECT_EQ(check_op(check), "") << to_string(cell) << ", " << ::testing::PrintToString(f);
}

TEST(Recurrent, PassesCheckOp) {
  for (RC cell : cells)
    for (const Form& f :
         {Form{2, 3, 4, false, true, true, true}, Form{3, 4, 5, true, false, false, true},
          Form{7, 2, 17, false, false, true, false}, Form{1, 5, 3, true, true, false, false},
          Form{0, 3, 2, false, true, true, true}, Form{2, 0, 2, false, true, true, true}})
      check_cell(cell, f);
}

// A gradient of the state alone, as of a classifier that reads the last one.
TEST(Recurrent, StatesAloneHaveGradients) {
  for (RC cell : cells) {
    Graph graph;
    Operands o = operands(graph, cell, 1, 2, 1);
    Recurrence r = recurrent({.z = o.z, .kernel = o.kernel}, {.cell = cell});
    Tensor last = slice(r.y, {.begin = {0, 1, 0}, .size = {1, 1, 1}});
    for (const Tensor& x : {o.z, o.kernel})
      EXPECT_THAT(slope(r.final.h, x), ElementsAreArray(slope(last, x))) << to_string(cell);
  }
}

// ---- errors

TEST(Recurrent, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor z = constant(graph, Array::zeros({2, 3, 8})),
         kernel = constant(graph, Array::zeros({2, 8}));
  Tensor state = constant(graph, Array::zeros({2, 2}));
  auto error = [&](const RecurrentOperands& o, RecurrentOptions options = {}) {
    return error_of([&] { recurrent(o, options); });
  };
  EXPECT_EQ(error({.z = z, .kernel = kernel}), "no error");
  EXPECT_THAT(error({.z = reshape(z, {6, 8}), .kernel = kernel}),
              HasSubstr("recurrent: z must be [n, t, gates * units], got f32[6, 8]"));
  EXPECT_THAT(error({.z = z, .kernel = kernel}, {.cell = RC::gru}),
              HasSubstr("recurrent: kernel must be f32[2, 6], got f32[2, 8]"));
  EXPECT_THAT(error({.z = z, .kernel = kernel, .initial = {.h = state}}),
              HasSubstr("recurrent: the initial state of lstm is h and c, got h without c"));
  EXPECT_THAT(
      error({.z = z, .kernel = kernel, .initial = {.h = state, .c = state}}, {.cell = RC::relu}),
      HasSubstr("recurrent: the initial state of relu is h alone, got h with c"));
  EXPECT_THAT(error({.z = z, .kernel = kernel, .lengths = state}),
              HasSubstr("recurrent: lengths must be i32 or i64; cast them"));
  EXPECT_THAT(error({.z = z, .kernel = kernel, .bias = state}), HasSubstr("recurrent: bias"));
}

}  // namespace
}  // namespace belfry::testing
