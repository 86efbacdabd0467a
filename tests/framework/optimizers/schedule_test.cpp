// Covers schedule.cpp, exponential_decay, piecewise_constant, polynomial_decay,
// cosine_decay, one_cycle, range_test and warmup.
#include <gmock/gmock.h>

#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry {
namespace {

using testing::HasSubstr;
using testing::Throws;

auto fails(const std::string& text) {
  return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
}

// The schedule's values at some steps, in f64.
std::vector<double> at(const Schedule& schedule, const std::vector<std::int64_t>& steps) {
  Graph graph;
  Evaluator evaluate({schedule.exact(input(graph, "step", {{}, DType::i64}))});
  std::vector<double> out;
  for (std::int64_t step : steps)
    out.push_back(evaluate({{"step", Array::scalar(step)}})[0].item());
  return out;
}

void expect_values(const Schedule& schedule, const std::vector<std::int64_t>& steps,
                   const std::vector<double>& expected) {
  std::vector<double> found = at(schedule, steps);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 4e-16 * std::max(1.0, expected[i])) << "step " << steps[i];
}

TEST(Schedule, ConstantIsRoundedToF32Once) {
  Graph graph;
  Tensor step = global_step(graph);
  Tensor rate = Schedule(0.1)(step);
  EXPECT_EQ(rate.type(), (TensorType{{}, DType::f32}));
  EXPECT_EQ(evaluate({rate})[0].item(), 0.1f);
  EXPECT_EQ(evaluate({Schedule(1e-3f)(step)})[0].item(), 1e-3f);
}

TEST(Schedule, AnyFunctionOfTheStep) {
  Schedule schedule = [](Tensor step) { return cast(step, DType::f32) * 0.5; };
  expect_values(schedule, {0, 1, 7}, {0, 0.5, 3.5});
}

TEST(Schedule, Errors) {
  Graph graph;
  Tensor step = global_step(graph);
  EXPECT_THAT([] { Schedule(-0.5); },
              fails("schedule: the learning rate is -0.5; it must be finite and at least 0"));
  EXPECT_THAT([] { Schedule(std::nan("")); }, fails("schedule: the learning rate is nan"));
  EXPECT_THAT([&] { Schedule(0.1)(constant(graph, 1, DType::f32)); },
              fails("schedule: the step is f32[]; expected i64[]"));
  EXPECT_THAT([&] { Schedule([](Tensor s) { return s; })(step); },
              fails("schedule: the function gave i64[]; expected a floating scalar"));
  EXPECT_THAT([&] { Schedule([](Tensor) { return Tensor(); })(step); },
              fails("schedule: the function gave an undefined tensor"));
}

TEST(ExponentialDecay, HandComputed) {
  expect_values(exponential_decay({.initial = 2, .decay_steps = 10, .decay_rate = 0.25}),
                {0, 5, 10, 20, 25}, {2, 1, 0.5, 0.125, 0.0625});
}

TEST(ExponentialDecay, Staircase) {
  expect_values(
      exponential_decay({.initial = 2, .decay_steps = 10, .decay_rate = 0.25, .staircase = true}),
      {0, 5, 9, 10, 19, 20}, {2, 2, 2, 0.5, 0.5, 0.125});
}

TEST(ExponentialDecay, Errors) {
  EXPECT_THAT([] { exponential_decay({.decay_steps = 10, .decay_rate = 0.5}); },
              fails("exponential_decay: initial is 0; it must be finite and above 0"));
  EXPECT_THAT([] { exponential_decay({.initial = 1, .decay_rate = 0.5}); },
              fails("exponential_decay: decay_steps is 0; it must be at least 1"));
  EXPECT_THAT([] { exponential_decay({.initial = 1, .decay_steps = 10}); },
              fails("exponential_decay: decay_rate is 0; it must be finite and above 0"));
}

TEST(PiecewiseConstant, BoundariesBelongToTheValueBefore) {
  expect_values(piecewise_constant({.boundaries = {2, 5}, .values = {1, 0.5, 0.25}}),
                {0, 2, 3, 5, 6, 1000}, {1, 1, 0.5, 0.5, 0.25, 0.25});
  expect_values(piecewise_constant({.values = {0.75}}), {0, 9}, {0.75, 0.75});
}

TEST(PiecewiseConstant, Errors) {
  EXPECT_THAT(
      [] {
        piecewise_constant({.boundaries = {2, 5}, .values = {1, 2}});
      },
      fails("piecewise_constant: 2 boundaries need 3 values, got 2"));
  EXPECT_THAT(
      [] {
        piecewise_constant({.boundaries = {5, 5}, .values = {1, 2, 3}});
      },
      fails("piecewise_constant: boundaries [5, 5] do not increase"));
  EXPECT_THAT(
      [] {
        piecewise_constant({.boundaries = {5}, .values = {1, -2}});
      },
      fails("piecewise_constant: the value -2 is not a finite number of at least 0"));
}

TEST(PolynomialDecay, HandComputed) {
  expect_values(polynomial_decay({.initial = 1.5, .decay_steps = 10, .end = 0.5}), {0, 5, 10, 15},
                {1.5, 1, 0.5, 0.5});
  expect_values(polynomial_decay({.initial = 4, .decay_steps = 4, .end = 0, .power = 2}),
                {0, 1, 2, 4, 9}, {4, 2.25, 1, 0, 0});
}

TEST(PolynomialDecay, CycleStretchesTheSpan) {
  // Past step 4 the span is 8, past step 8 it is 12.
  expect_values(polynomial_decay({.initial = 1, .decay_steps = 4, .end = 0, .cycle = true}),
                {0, 2, 4, 5, 8, 9, 12}, {1, 0.5, 0, 0.375, 0, 0.25, 0});
}

TEST(PolynomialDecay, Errors) {
  EXPECT_THAT([] { polynomial_decay({.initial = 1, .decay_steps = -4}); },
              fails("polynomial_decay: decay_steps is -4; it must be at least 1"));
  EXPECT_THAT([] { polynomial_decay({.initial = 1, .decay_steps = 4, .end = -1}); },
              fails("polynomial_decay: end is -1; it must be finite and at least 0"));
  EXPECT_THAT([] { polynomial_decay({.initial = 1, .decay_steps = 4, .power = 0}); },
              fails("polynomial_decay: power is 0; it must be finite and above 0"));
}

TEST(CosineDecay, HandComputed) {
  // cos(pi / 3) = 1/2, cos(2 pi / 3) = -1/2
  expect_values(cosine_decay({.initial = 2, .decay_steps = 6}), {0, 2, 3, 4, 6, 60},
                {2, 1.5, 1, 0.5, 0, 0});
  expect_values(cosine_decay({.initial = 2, .decay_steps = 6, .alpha = 0.5}), {0, 2, 3, 6},
                {2, 1.75, 1.5, 1});
}

TEST(CosineDecay, TheSeriesIsExact) {
  std::vector<std::int64_t> steps;
  std::vector<double> expected;
  for (std::int64_t step = 0; step <= 1000; step += 37) {
    steps.push_back(step);
    expected.push_back(0.5 + 0.5 * std::cos(std::acos(-1.0) * static_cast<double>(step) / 1000));
  }
  expect_values(cosine_decay({.initial = 1, .decay_steps = 1000}), steps, expected);
}

TEST(CosineDecay, Errors) {
  EXPECT_THAT([] { cosine_decay({.initial = 1, .decay_steps = 5, .alpha = 1.5}); },
              fails("cosine_decay: alpha is 1.5; it must lie in [0, 1]"));
}

// By PyTorch's formula in double: it rises to step 0.3 x 10 - 1 = 2, and falls to step 9.
TEST(OneCycle, RisesAndFallsAsPyTorchs) {
  expect_values(one_cycle({.peak = 2, .steps = 10}), {0, 1, 2, 3, 5, 9, 20},
                {0.08, 1.04, 2, 1.9009692640269473, 1.2225240438725786, 8e-6, 8e-6});
  // Half a cosine from 1 to 4 and to 2.
  expect_values(one_cycle({.peak = 4, .steps = 9, .rising = 5 / 9., .start = 0.25, .end = 0.5}),
                {0, 2, 4, 6, 8}, {1, 2.5, 4, 3, 2});
}

TEST(OneCycle, Errors) {
  EXPECT_THAT([] { one_cycle({.steps = 10}); },
              fails("one_cycle: peak is 0; it must be finite and above 0"));
  EXPECT_THAT([] { one_cycle({.peak = 1, .steps = 3}); },
              fails("one_cycle: it rises in 0.3 of 3 steps; that must be more than one step, and "
                    "less than all"));
  EXPECT_THAT([] { one_cycle({.peak = 1, .steps = 10, .start = 2}); },
              fails("start and end are shares of the peak, got 2; they must lie in [0, 1]"));
}

TEST(RangeTest, RisesByTheSameFactor) {
  expect_values(range_test({.from = 0.5, .to = 8, .steps = 5}), {0, 1, 2, 4, 9}, {0.5, 1, 2, 8, 8});
  EXPECT_THAT([] { range_test({.from = 2, .to = 1}); },
              fails("range_test: it goes from 2 to 1; the first must be above 0 and below"));
}

TEST(Warmup, LinearThenTheOtherFromItsBeginning) {
  Schedule decay = polynomial_decay({.initial = 2, .decay_steps = 4, .end = 0});
  expect_values(warmup(decay, {.steps = 4}), {0, 1, 3, 4, 5, 8}, {0, 0.5, 1.5, 2, 1.5, 0});
  expect_values(warmup(0.5, {.steps = 2, .from = 0.25}), {0, 1, 2, 3}, {0.25, 0.375, 0.5, 0.5});
}

TEST(Warmup, Errors) {
  EXPECT_THAT([] { warmup(0.5, {}); }, fails("warmup: steps is 0; it must be at least 1"));
  EXPECT_THAT([] { warmup(0.5, {.steps = 1, .from = -1}); },
              fails("warmup: from is -1; it must be finite and at least 0"));
}

}  // namespace
}  // namespace belfry
