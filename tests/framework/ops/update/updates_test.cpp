// Covers the formulas: update_functors.h and all *_update. Nodes: update_rule_test.cpp.
#include "belfry/framework/ops/update/updates.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "../run_in_place.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using Values = std::vector<double>;

// A variable with its gradient and slots, as host arrays.
struct Group {
  Array variable, gradient;
  std::vector<Array> slots = {};
};

// Runs an update op's reference kernel once; `step` only where the op takes it.
void run(const OpDef& op, const Options& options, float rate, std::optional<std::int64_t> step,
         std::vector<Group>& groups) {
  std::vector<Array> arrays{Array::scalar(rate)};
  if (step) arrays.push_back(Array::scalar(*step));
  for (const Group& g : groups) {
    arrays.push_back(g.variable);
    arrays.push_back(g.gradient);
    arrays.insert(arrays.end(), g.slots.begin(), g.slots.end());
  }
  run_in_place(op, options, arrays);
}

Values values(const Array& a) {
  Values out;
  for (std::int64_t i = 0; i < a.elements(); ++i) out.push_back(a.at(i));
  return out;
}

Array array(const Values& values, const Shape& shape, DType dtype) {
  return Array::of(std::span(values), shape).cast(dtype);
}

// A group whose slots are filled with one value each.
Group group(const Values& variable, const Values& gradient, const Values& slots, Shape shape,
            DType dtype = DType::f64) {
  Group out{array(variable, shape, dtype), array(gradient, shape, dtype)};
  for (double slot : slots) out.slots.push_back(array(Values(variable.size(), slot), shape, dtype));
  return out;
}

// ---- numbers worked out by hand ----------------------------------------------------------------

TEST(SgdUpdate, HandComputed) {
  std::vector<Group> g{group({1, -2}, {0.5, 4}, {}, {2}), group({3}, {1}, {}, {1, 1})};
  run(sgd_update_op, SgdUpdateOptions{}, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.875, -3));
  EXPECT_THAT(values(g[1].variable), ElementsAre(2.75));
}

TEST(SgdUpdate, WeightDecayLeavesLowRanksAlone) {
  std::vector<Group> g{group({1, -2}, {0, 0}, {}, {2}), group({4}, {1}, {}, {1, 1})};
  run(sgd_update_op, SgdUpdateOptions{.weight_decay = 0.5}, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(1, -2));
  EXPECT_THAT(values(g[1].variable), ElementsAre(3.25));  // 4 - 0.25 (1 + 0.5 * 4)
  run(sgd_update_op, SgdUpdateOptions{.weight_decay = 0.5, .decay_min_rank = 0}, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.875, -1.75));
}

TEST(MomentumUpdate, HandComputed) {
  std::vector<Group> g{group({1}, {1}, {0}, {1})};
  MomentumUpdateOptions o{.momentum = 0.5};
  run(momentum_update_op, o, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.75));
  run(momentum_update_op, o, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.375));
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.5));
  run(momentum_update_op, o, 0.5f, {}, g);  // the accumulator knows no learning rate
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.75));
  EXPECT_THAT(values(g[0].variable), ElementsAre(-0.5));
}

TEST(MomentumUpdate, NesterovHandComputed) {
  std::vector<Group> g{group({1}, {1}, {0}, {1})};
  MomentumUpdateOptions o{.momentum = 0.5, .nesterov = true};
  run(momentum_update_op, o, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.625));  // 1 - 0.25 (1 + 0.5 * 1)
  run(momentum_update_op, o, 0.25f, {}, g);
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.1875));  // 0.625 - 0.25 (1 + 0.5 * 1.5)
}

TEST(MomentumUpdate, WeightDecayEntersTheAccumulator) {
  std::vector<Group> g{group({4}, {1}, {2}, {1, 1})};
  run(momentum_update_op, MomentumUpdateOptions{.momentum = 0.5, .weight_decay = 0.25}, 0.5f, {},
      g);
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(3));  // 0.5 * 2 + 1 + 0.25 * 4
  EXPECT_THAT(values(g[0].variable), ElementsAre(2.5));
}

TEST(AdamUpdate, HandComputed) {
  std::vector<Group> g{group({1}, {2}, {0, 0}, {1})};
  AdamUpdateOptions o{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.5};
  run(adam_update_op, o, 0.75f, 0, g);  // m = 1, v = 1, rate_t = 0.75 * 0.5 / 0.5
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1));
  EXPECT_THAT(values(g[0].slots[1]), ElementsAre(1));
  EXPECT_DOUBLE_EQ(g[0].variable.item(), 0.5);  // 1 - 0.75 / 1.5
  run(adam_update_op, o, 0.75f, 1, g);          // m = 1.5, v = 1.75, rate_t = sqrt(0.4375)
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.5));
  EXPECT_THAT(values(g[0].slots[1]), ElementsAre(1.75));
  EXPECT_DOUBLE_EQ(g[0].variable.item(), -0.04428108611692616);
}

TEST(AdamUpdate, DecoupledWeightDecay) {
  std::vector<Group> g{group({1}, {2}, {0, 0}, {1, 1}), group({1}, {2}, {0, 0}, {1})};
  run(adam_update_op,
      AdamUpdateOptions{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.5, .weight_decay = 0.5}, 0.75f, 0,
      g);
  EXPECT_DOUBLE_EQ(g[0].variable.item(), 0.125);  // 0.75 * 0.5 * 1 more than without
  EXPECT_DOUBLE_EQ(g[1].variable.item(), 0.5);
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1));  // the moments know nothing of the decay
}

TEST(RmspropUpdate, HandComputed) {
  std::vector<Group> g{group({1}, {2}, {1}, {1})};
  run(rmsprop_update_op, RmspropUpdateOptions{.decay = 0.75, .epsilon = 0.5}, 0.75f, {}, g);
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.75));
  EXPECT_THAT(values(g[0].variable), ElementsAre(0));  // 1 - 0.75 * 2 / sqrt(1.75 + 0.5)
}

TEST(RmspropUpdate, MomentumAndCenteredHandComputed) {
  std::vector<Group> g{group({1}, {2}, {1, 4, 0}, {1})};
  RmspropUpdateOptions o{.decay = 0.75, .momentum = 0.5, .epsilon = 0.75, .centered = true};
  run(rmsprop_update_op, o, 0.75f, {}, g);
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.75));
  EXPECT_THAT(values(g[0].slots[2]), ElementsAre(0.5));  // mean gradient
  EXPECT_THAT(values(g[0].slots[1]), ElementsAre(3));    // 0.5 * 4 + 0.75 * 2 / sqrt(1.5 + 0.75)
  EXPECT_THAT(values(g[0].variable), ElementsAre(-2));
}

TEST(RmspropUpdate, CenteredWithoutMomentumHasTwoSlots) {
  std::vector<Group> g{group({1}, {2}, {1, 0}, {1})};
  run(rmsprop_update_op, RmspropUpdateOptions{.decay = 0.75, .epsilon = 0.75, .centered = true},
      0.75f, {}, g);
  EXPECT_THAT(values(g[0].slots[1]), ElementsAre(0.5));
  EXPECT_THAT(values(g[0].variable), ElementsAre(0));
}

TEST(RmspropUpdate, RoundingMakesNoVarianceNegative) {
  // With a constant gradient the variance tends to 0; a negative one would give NaN.
  std::vector<Group> g{group({1, 1, 1}, {0.1, 3.3, 1e3}, {0, 0}, {3}, DType::f32)};
  for (int i = 0; i < 300; ++i)
    run(rmsprop_update_op, RmspropUpdateOptions{.decay = 0.5, .epsilon = 1e-10, .centered = true},
        1e-9f, {}, g);
  for (double x : values(g[0].variable)) EXPECT_TRUE(std::isfinite(x)) << x;
}

TEST(AdagradUpdate, HandComputed) {
  std::vector<Group> g{group({1}, {1}, {1.25}, {1})};
  run(adagrad_update_op, AdagradUpdateOptions{}, 0.75f, {}, g);
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(2.25));
  EXPECT_THAT(values(g[0].variable), ElementsAre(0.5));
}

TEST(FtrlUpdate, HandComputed) {
  std::vector<Group> g{group({0.5, -1, 2}, {0.8, 0.8, 0.8}, {0.36, 0}, {3})};
  run(ftrl_update_op, FtrlUpdateOptions{.l1 = 0.625, .l2 = 0.5}, 0.5f, {}, g);
  // accumulator 0.36 + 0.64; linear = 0.8 - (1 - 0.6) / 0.5 * variable
  for (double a : values(g[0].slots[0])) EXPECT_DOUBLE_EQ(a, 1);
  EXPECT_NEAR(g[0].slots[1].at(0), 0.4, 1e-15);
  EXPECT_NEAR(g[0].slots[1].at(1), 1.6, 1e-15);
  EXPECT_NEAR(g[0].slots[1].at(2), -0.8, 1e-15);
  EXPECT_EQ(g[0].variable.at(0), 0);                // |0.4| <= l1
  EXPECT_NEAR(g[0].variable.at(1), -0.325, 1e-15);  // (0.625 - 1.6) / (2 + 1)
  EXPECT_NEAR(g[0].variable.at(2), (-0.625 + 0.8) / 3, 1e-15);
}

TEST(FtrlUpdate, LearningRateZeroChangesNothingAndNanIsNotHidden) {
  std::vector<Group> g{group({0.5}, {0.8}, {0.36, 0.1}, {1})};
  run(ftrl_update_op, FtrlUpdateOptions{}, 0.0f, {}, g);
  EXPECT_EQ(g[0].variable.item(), 0.5);
  EXPECT_EQ(g[0].slots[0].item(), 0.36);
  EXPECT_EQ(g[0].slots[1].item(), 0.1);
  g[0].gradient = Array::of({std::nan("")});
  run(ftrl_update_op, FtrlUpdateOptions{.l1 = 1}, 0.5f, {}, g);
  EXPECT_TRUE(std::isnan(g[0].variable.item()));
}

TEST(FtrlUpdate, AnAccumulatorOfZeroAndNoGradientGiveZero) {
  std::vector<Group> g{group({0.5}, {0}, {0, 0}, {1})};
  run(ftrl_update_op, FtrlUpdateOptions{}, 0.5f, {}, g);
  EXPECT_EQ(g[0].variable.item(), 0);
}

TEST(LambUpdate, HandComputed) {
  // At the first step the direction is g / (|g| + epsilon): here (0.6, 0.8), of norm 1.
  std::vector<Group> g{group({3, 4}, {1.5, 4}, {0, 0}, {2}), group({0, 0}, {1.5, 4}, {0, 0}, {2}),
                       group({3, 4}, {0, 0}, {0, 0}, {2})};
  LambUpdateOptions o{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 1};
  run(lamb_update_op, o, 0.125f, 0, g);
  EXPECT_NEAR(g[0].variable.at(0), 2.625, 1e-15);  // 3 - 0.125 * 5 * 0.6
  EXPECT_NEAR(g[0].variable.at(1), 3.5, 1e-15);
  EXPECT_NEAR(g[1].variable.at(0), -0.075, 1e-15);  // no norm, no ratio
  EXPECT_NEAR(g[1].variable.at(1), -0.1, 1e-15);
  EXPECT_THAT(values(g[2].variable), ElementsAre(3, 4));
  EXPECT_THAT(values(g[0].slots[0]), ElementsAre(0.75, 2));
  EXPECT_THAT(values(g[0].slots[1]), ElementsAre(0.5625, 4));
}

TEST(LambUpdate, WeightDecayIsPartOfTheDirection) {
  std::vector<Group> g{group({2}, {0}, {0, 0}, {1, 1})};
  run(lamb_update_op, LambUpdateOptions{.weight_decay = 0.01}, 0.125f, 0, g);
  EXPECT_DOUBLE_EQ(g[0].variable.item(), 1.75);  // the ratio undoes the decay's size: 2 - 0.125 * 2
}

// ---- several steps against textbook forms, in double -------------------------------------------

// One element, with all that happened to it; no recurrences where a sum will do.
struct Element {
  double w;
  Values gradients = {}, rates = {};
  Values before = {};  // w at the beginning of each step
};
using Textbook = std::function<double(const Element&, double rate)>;  // the element's new value

// The exponential moving mean of f(g) over the history: sum of (1 - decay) decay^(t - i) f(g_i).
double moving_mean(const Values& g, double decay, const std::function<double(double)>& f,
                   double initial = 0) {
  double sum = std::pow(decay, static_cast<double>(g.size())) * initial;
  for (std::size_t i = 0; i < g.size(); ++i)
    sum += (1 - decay) * std::pow(decay, static_cast<double>(g.size() - 1 - i)) * f(g[i]);
  return sum;
}
double same(double x) { return x; }
double squared(double x) { return x * x; }

struct Comparison {
  const OpDef& op;
  Options options;
  Values slots;
  bool takes_step;
  Textbook textbook;
};

void compare(const Comparison& c, DType dtype, double tolerance) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const Shape shape{3, 5};
  Values start(15), gradient(15);
  for (double& x : start) x = static_cast<float>(normal(random));
  std::vector<Group> g{group(start, gradient, c.slots, shape, dtype)};
  std::vector<Element> elements;
  for (double x : start) elements.push_back({x});
  for (int step = 0; step < 12; ++step) {
    float rate = 0.05f / static_cast<float>(1 + step % 3);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      gradient[i] = static_cast<float>(normal(random));
      elements[i].gradients.push_back(gradient[i]);
      elements[i].rates.push_back(rate);
      elements[i].before.push_back(elements[i].w);
      elements[i].w = c.textbook(elements[i], rate);
    }
    g[0].gradient = array(gradient, shape, dtype);
    run(c.op, c.options, rate, c.takes_step ? std::optional<std::int64_t>(step) : std::nullopt, g);
    for (std::size_t i = 0; i < elements.size(); ++i)
      ASSERT_NEAR(g[0].variable.at(static_cast<std::int64_t>(i)), elements[i].w,
                  tolerance * std::max(1.0, std::abs(elements[i].w)))
          << "step " << step << ", element " << i;
  }
}

// Twelve steps of some ten roundings each.
constexpr double f64_tolerance = 120 * 0x1p-53;
constexpr double f32_tolerance = 120 * 0x1p-24;

void compare(const Comparison& c) {
  compare(c, DType::f64, f64_tolerance);
  compare(c, DType::f32, f32_tolerance);
}

TEST(SgdUpdate, ManySteps) {
  compare({sgd_update_op,
           SgdUpdateOptions{.weight_decay = 0.1},
           {},
           false,
           [](const Element& e, double rate) {
             return e.w * (1 - rate * 0.1) - rate * e.gradients.back();
           }});
}

TEST(MomentumUpdate, ManySteps) {
  for (bool nesterov : {false, true}) {
    compare({momentum_update_op,
             MomentumUpdateOptions{.momentum = 0.9, .nesterov = nesterov},
             {0},
             false,
             [=](const Element& e, double rate) {
               double accumulator = moving_mean(e.gradients, 0.9, same) / (1 - 0.9);
               return e.w
                      - rate * (nesterov ? e.gradients.back() + 0.9 * accumulator : accumulator);
             }});
  }
}

// The form with corrected moments, whose epsilon is ours divided by sqrt(1 - beta2^t).
double adam_direction(const Values& g, double beta1, double beta2, double epsilon) {
  double t = static_cast<double>(g.size());
  double m_hat = moving_mean(g, beta1, same) / (1 - std::pow(beta1, t));
  double v_hat = moving_mean(g, beta2, squared) / (1 - std::pow(beta2, t));
  return m_hat / (std::sqrt(v_hat) + epsilon);
}

TEST(AdamUpdate, ManySteps) {
  for (double decay : {0.0, 0.25}) {
    compare({adam_update_op,
             AdamUpdateOptions{.beta1 = 0.9, .beta2 = 0.99, .epsilon = 0.01, .weight_decay = decay},
             {0, 0},
             true,
             [=](const Element& e, double rate) {
               double t = static_cast<double>(e.gradients.size());
               double epsilon = 0.01 / std::sqrt(1 - std::pow(0.99, t));
               return (1 - rate * decay) * e.w
                      - rate * adam_direction(e.gradients, 0.9, 0.99, epsilon);
             }});
  }
}

TEST(RmspropUpdate, ManySteps) {
  compare({rmsprop_update_op,
           RmspropUpdateOptions{.epsilon = 0.01},
           {1},
           false,
           [](const Element& e, double rate) {
             return e.w
                    - rate * e.gradients.back()
                          / std::sqrt(moving_mean(e.gradients, 0.9, squared, 1) + 0.01);
           }});
  compare({rmsprop_update_op,
           RmspropUpdateOptions{.epsilon = 0.1, .centered = true},
           {1, 0},
           false,
           [](const Element& e, double rate) {
             double variance = moving_mean(e.gradients, 0.9, squared, 1)
                               - squared(moving_mean(e.gradients, 0.9, same));
             return e.w - rate * e.gradients.back() / std::sqrt(variance + 0.1);
           }});
}

TEST(AdagradUpdate, ManySteps) {
  compare(
      {adagrad_update_op, AdagradUpdateOptions{}, {0.1}, false, [](const Element& e, double rate) {
         double sum = 0.1;
         for (double g : e.gradients) sum += g * g;
         return e.w - rate * e.gradients.back() / std::sqrt(sum);
       }});
}

// The minimum of sum(g) w + 1/2 sum(sigma_s (w - w_s)^2) + l1 |w| + l2 w^2, with sigma_1 + ... +
// sigma_t = sqrt(accumulator) / rate when the rate is constant; the part from the initial
// accumulator pulls towards 0.
TEST(FtrlUpdate, ManySteps) {
  const double l1 = 0.3, l2 = 0.7;
  compare({ftrl_update_op,
           FtrlUpdateOptions{.l1 = l1, .l2 = l2},
           {0.1, 0},
           false,
           [=](const Element& e, double rate) {
             double accumulator = 0.1, slope = 0;
             for (std::size_t s = 0; s < e.gradients.size(); ++s) {
               double sigma = -std::sqrt(accumulator);
               accumulator += squared(e.gradients[s]);
               sigma = (sigma + std::sqrt(accumulator)) / e.rates[s];
               slope += e.gradients[s] - sigma * e.before[s];
             }
             double curvature = std::sqrt(accumulator) / rate + 2 * l2;
             return -std::copysign(std::max(std::abs(slope) - l1, 0.0), slope) / curvature;
           }});
}

TEST(LambUpdate, ManySteps) {
  const Shape shape{2, 2};
  Values w{0.5, -1.5, 2, 0.25};
  std::vector<Group> g{group(w, w, {0, 0}, shape)};
  std::vector<Values> history(w.size());
  for (int step = 0; step < 6; ++step) {
    Values gradient, direction;
    double norm = 0, direction_norm = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      gradient.push_back(std::sin(3.0 * step + static_cast<double>(i)));
      history[i].push_back(gradient[i]);
      direction.push_back(adam_direction(history[i], 0.9, 0.99, 1e-3) + 0.1 * w[i]);
      norm += squared(w[i]);
      direction_norm += squared(direction[i]);
    }
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] -= 0.125 * std::sqrt(norm / direction_norm) * direction[i];
    g[0].gradient = array(gradient, shape, DType::f64);
    run(lamb_update_op,
        LambUpdateOptions{.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-3, .weight_decay = 0.1},
        0.125f, step, g);
    for (std::size_t i = 0; i < w.size(); ++i)
      ASSERT_NEAR(g[0].variable.at(static_cast<std::int64_t>(i)), w[i], 4 * f64_tolerance) << step;
  }
}

// ---- other types, edges ------------------------------------------------------------------------

TEST(UpdateOps, SixteenBitFloatsComputeInFloat) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    std::vector<Group> g{group({1}, {1}, {0}, {1}, dtype)};
    run(momentum_update_op, MomentumUpdateOptions{.momentum = 0.5}, 0.25f, {}, g);
    run(momentum_update_op, MomentumUpdateOptions{.momentum = 0.5}, 0.25f, {}, g);
    EXPECT_THAT(values(g[0].variable), ElementsAre(0.375)) << to_string(dtype);
    EXPECT_THAT(values(g[0].slots[0]), ElementsAre(1.5)) << to_string(dtype);
  }
}

TEST(UpdateOps, EmptyVariablesAreFine) {
  std::vector<Group> g{group({}, {}, {0, 0}, {0, 3}), group({1}, {2}, {0, 0}, {1})};
  run(lamb_update_op, LambUpdateOptions{}, 0.125f, 0, g);
  EXPECT_NE(g[1].variable.item(), 1);
}

}  // namespace
}  // namespace belfry
