// Covers sgd, momentum, adam, rmsprop, adagrad, ftrl, lamb: what they
// make of their options, run through the compiler. The formulas are tested in
// tests/framework/ops/update/updates_test.cpp.
#include "belfry/framework/optimizers/optimizers.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/optimizers/minimize.h"
#include "training.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

auto fails(const std::string& text) {
  return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
}

// Minimises (x - 3)^2 / 2 + (y + 1)^2 from x = 1, y = 2, in f64; x is a matrix, y a vector.
// `textbook` changes one coordinate by its gradient g(x) at step t = 1, 2, ...
struct Coordinate {
  double w, m = 0, v = 0;
  bool matrix;
};
using Textbook = std::function<void(Coordinate& c, double g, int t)>;

void expect_descent(const Optimizer& optimizer, const Textbook& textbook, double v0 = 0) {
  for (bool fast : {true, false}) {
    Graph graph;
    Scope s(graph);
    Variable x = s.variable("x", {{1, 1}, DType::f64, constant_value(1)});
    Variable y = s.variable("y", {{1}, DType::f64, constant_value(2)});
    Tensor loss = sum(square(x - 3)) * 0.5 + sum(square(y + 1));
    Update update = minimize(loss, optimizer);
    apply_gradients(update, compute_gradients(update));
    Training training(graph, {loss}, fast);
    Coordinate a{1, 0, v0, true}, b{2, 0, v0, false};
    for (int t = 1; t <= 10; ++t) {
      double expected = (a.w - 3) * (a.w - 3) / 2 + (b.w + 1) * (b.w + 1);
      textbook(a, a.w - 3, t);
      textbook(b, 2 * (b.w + 1), t);
      training.step();
      ASSERT_NEAR(training.output(), expected, 1e-14 * t);  // the loss before the update
      ASSERT_NEAR(training.variable("x")[0], a.w, 1e-14 * t) << "step " << t;
      ASSERT_NEAR(training.variable("y")[0], b.w, 1e-14 * t) << "step " << t;
    }
  }
}

constexpr double rate = 0.125;  // exact in f32

TEST(Sgd, Descends) {
  expect_descent(sgd({.learning_rate = rate}),
                 [](Coordinate& c, double g, int) { c.w -= rate * g; });
  expect_descent(
      sgd({.learning_rate = rate, .weight_decay = 0.1}),
      [](Coordinate& c, double g, int) { c.w -= rate * (c.matrix ? g + 0.1 * c.w : g); });
}

TEST(Momentum, Descends) {
  auto textbook = [](Coordinate& c, double g, int) {
    c.m = 0.9 * c.m + g;
    c.w -= rate * c.m;
  };
  expect_descent(momentum({.learning_rate = rate}), textbook);
}

TEST(Momentum, NesterovWithWeightDecayDescends) {
  expect_descent(momentum({.learning_rate = rate,
                           .momentum = 0.5,
                           .nesterov = true,
                           .weight_decay = 0.1,
                           .decay_min_rank = 0}),
                 [](Coordinate& c, double g, int) {
                   g += 0.1 * c.w;
                   c.m = 0.5 * c.m + g;
                   c.w -= rate * (g + 0.5 * c.m);
                 });
}

Textbook adam_textbook(double beta1, double beta2, double epsilon, double decay) {
  return [=](Coordinate& c, double g, int t) {
    if (c.matrix) c.w *= 1 - rate * decay;
    c.m = beta1 * c.m + (1 - beta1) * g;
    c.v = beta2 * c.v + (1 - beta2) * g * g;
    double corrected = c.m / (1 - std::pow(beta1, t));
    double root = std::sqrt(1 - std::pow(beta2, t));
    c.w -= rate * corrected / (std::sqrt(c.v) / root + epsilon / root);
  };
}

TEST(Adam, Descends) {
  expect_descent(adam({.learning_rate = rate}), adam_textbook(0.9, 0.999, 1e-8, 0));
  expect_descent(adam({.learning_rate = rate, .beta1 = 0.5, .beta2 = 0.9, .epsilon = 0.1}),
                 adam_textbook(0.5, 0.9, 0.1, 0));
}

TEST(AdamW, DecaysMatricesOnly) {
  expect_descent(adamw({.learning_rate = rate}), adam_textbook(0.9, 0.999, 1e-8, 0.01));
}

TEST(Rmsprop, Descends) {
  expect_descent(
      rmsprop({.learning_rate = rate}),
      [](Coordinate& c, double g, int) {
        c.v = 0.9 * c.v + 0.1 * g * g;
        c.w -= rate * g / std::sqrt(c.v + 1e-10);
      },
      1);
}

TEST(Rmsprop, MomentumAndCenteredDescend) {
  // The textbook keeps no third slot: the mean gradient follows from the history.
  std::vector<double> history[2];
  expect_descent(
      rmsprop({.learning_rate = rate, .momentum = 0.5, .epsilon = 0.5, .centered = true}),
      [&](Coordinate& c, double g, int t) {
        auto& gradients = history[c.matrix];
        if (t == 1) gradients.clear();
        gradients.push_back(g);
        double mean = 0;
        for (double old : gradients) mean = 0.9 * mean + 0.1 * old;
        c.v = 0.9 * c.v + 0.1 * g * g;
        c.m = 0.5 * c.m + rate * g / std::sqrt(c.v - mean * mean + 0.5);
        c.w -= c.m;
      },
      1);
}

TEST(Adagrad, Descends) {
  expect_descent(
      adagrad({.learning_rate = rate}),
      [](Coordinate& c, double g, int) {
        c.v += g * g;
        c.w -= rate * g / std::sqrt(c.v);
      },
      0.1);
}

TEST(Ftrl, Descends) {
  // With learning_rate_power 0 the curvature is constant: w = soft(-linear) / (1 / rate + 2 l2).
  expect_descent(ftrl({.learning_rate = rate, .learning_rate_power = 0, .l1 = 0.25, .l2 = 0.5}),
                 [](Coordinate& c, double g, int) {
                   c.m += g;
                   double size = std::max(std::abs(c.m) - 0.25, 0.0);
                   c.w = -std::copysign(size, c.m) / (8 + 1);
                 });
}

TEST(Lamb, Descends) {
  // Each variable has one element, so a step has the length rate * |w|, or the direction's if w =
  // 0.
  expect_descent(lamb({.learning_rate = rate}), [](Coordinate& c, double g, int t) {
    c.m = 0.9 * c.m + 0.1 * g;
    c.v = 0.999 * c.v + 0.001 * g * g;
    double direction =
        c.m / (1 - std::pow(0.9, t)) / (std::sqrt(c.v / (1 - std::pow(0.999, t))) + 1e-6)
        + (c.matrix ? 0.01 * c.w : 0);
    c.w -= rate * std::copysign(std::abs(c.w), direction);
  });
}

// ---- every optimizer
// -----------------------------------------------------------------------------

using MakeOptimizer = std::function<Optimizer(double learning_rate)>;

const std::vector<MakeOptimizer> all_optimizers{
    [](double r) { return sgd({.learning_rate = r, .weight_decay = 0.1, .decay_min_rank = 0}); },
    [](double r) { return momentum({.learning_rate = r, .nesterov = true}); },
    [](double r) { return adam({.learning_rate = r}); },
    [](double r) { return adamw({.learning_rate = r, .decay_min_rank = 0}); },
    [](double r) { return rmsprop({.learning_rate = r, .momentum = 0.9, .centered = true}); },
    [](double r) { return adagrad({.learning_rate = r}); },
    [](double r) { return ftrl({.learning_rate = r, .l1 = 0.01}); },
    [](double r) { return lamb({.learning_rate = r, .decay_min_rank = 0}); },
};

// Minimises the sum of (v - 3)^4 for v = w and v = u, both f32, with these rates. The update
// applies in steps in which the input `go` is true.
class Descent {
 public:
  Descent(const Optimizer& optimizer, double rate_w, double rate_u, bool fast) {
    Scope s(graph_);
    Variable w = s.variable("w", {{2}, DType::f32, constant_value(0.3)});
    Variable u = s.variable("u", {{3}, DType::f32, constant_value(-0.7)});
    Update update = minimize(sum(square(square(w - 3))) + sum(square(square(u - 3))), optimizer);
    Gradients gradients = compute_gradients(update);
    gradients[0].rate = rate_w;
    gradients[1].rate = rate_u;
    apply_gradients(update, gradients, input(graph_, "go", {{}, DType::boolean}));
    training_ = std::make_unique<Training>(graph_, std::vector<Tensor>{update.loss}, fast);
  }
  void step(bool go) { training_->step({{"go", Array::scalar(go)}}); }
  /// All variables, or those whose name begins so.
  std::vector<double> values(std::string_view prefix = "") const {
    std::vector<double> out;
    for (const std::string& name : training_->names())
      if (name.starts_with(prefix))
        for (double x : training_->variable(name)) out.push_back(x);
    return out;
  }

 private:
  Graph graph_;
  std::unique_ptr<Training> training_;
};

TEST(Optimizers, AFalseConditionLeavesVariablesAndSlotsToTheBit) {
  for (bool fast : {false, true})
    for (const MakeOptimizer& make : all_optimizers) {
      SCOPED_TRACE(concat(make(0.1).name, fast ? " fast" : " reference"));
      Descent descent(make(0.1), 1, 1, fast);
      descent.step(false);
      std::vector<double> first = descent.values();
      descent.step(true);
      std::vector<double> second = descent.values();
      EXPECT_NE(second, first);
      descent.step(false);
      descent.step(false);
      EXPECT_EQ(descent.values(), second);
      descent.step(true);
      EXPECT_NE(descent.values(), second);
    }
}

TEST(Optimizers, TheRateOfAVariableIsAScaledLearningRate) {
  for (bool fast : {false, true})
    for (const MakeOptimizer& make : all_optimizers) {
      SCOPED_TRACE(concat(make(0.1).name, fast ? " fast" : " reference"));
      Descent rates(make(0.1), 0.3, 1, fast), scaled(make(0.1 * 0.3), 1, 1, fast),
          plain(make(0.1), 1, 1, fast);
      for (int i = 0; i < 4; ++i)
        for (Descent* d : {&rates, &scaled, &plain}) d->step(true);
      EXPECT_EQ(rates.values("w"), scaled.values("w"));
      EXPECT_EQ(rates.values("u"), plain.values("u"));
      EXPECT_NE(rates.values("w"), plain.values("w"));
    }
}

TEST(Optimizers, ARateOfZeroKeepsTheVariableWhileSlotsGoOn) {
  for (const MakeOptimizer& make : all_optimizers) {
    Optimizer optimizer = make(0.1);
    SCOPED_TRACE(optimizer.name);
    Descent descent(optimizer, 0, 1, true);
    descent.step(false);
    std::vector<double> all = descent.values("w/"), variables = descent.values("w");
    variables.resize(2);
    descent.step(true);
    std::vector<double> after = descent.values("w");
    after.resize(2);
    EXPECT_EQ(after, variables);
    bool goes_on = optimizer.name != "sgd" && optimizer.name != "ftrl";
    EXPECT_EQ(descent.values("w/") != all, goes_on);
  }
}

TEST(Optimizers, InitialSlots) {
  Graph graph;
  Scope s(graph);
  Variable w = s.variable("w", {{1}, DType::f32, zeros()});
  Gradients none{{w, constant(graph, Array::of({0.0f}))}};
  rmsprop({.momentum = 0.5, .centered = true}).apply(none, {});
  adagrad().apply(none, {});
  ftrl({.initial_accumulator = 0.25}).apply(none, {});
  auto initial = [&](const std::string& slot) {
    return graph.find_variable(slot)->as<VariableOptions>().initializer.a;
  };
  EXPECT_EQ(initial("w/rmsprop/mean_square"), 1);
  EXPECT_EQ(initial("w/rmsprop/velocity"), 0);
  EXPECT_EQ(initial("w/rmsprop/mean_gradient"), 0);
  EXPECT_EQ(initial("w/adagrad/accumulator"), 0.1);
  EXPECT_EQ(initial("w/ftrl/accumulator"), 0.25);
  EXPECT_EQ(initial("w/ftrl/linear"), 0);
}

TEST(Optimizers, OptionErrors) {
  EXPECT_THAT([] { sgd({.learning_rate = -1}); }, fails("the learning rate is -1"));
  EXPECT_THAT([] { sgd({.weight_decay = -1}); },
              fails("sgd: weight_decay is -1; it must be at least 0"));
  EXPECT_THAT([] { momentum({.momentum = 1}); },
              fails("momentum: momentum is 1; it must lie in [0, 1)"));
  EXPECT_THAT([] { adam({.beta1 = -0.5}); }, fails("adam: beta1 is -0.5; it must lie in [0, 1)"));
  EXPECT_THAT([] { adamw({.beta2 = std::nan("")}); },
              fails("adamw: beta2 is nan; it must lie in [0, 1)"));
  EXPECT_THAT([] { adam({.epsilon = 0}); }, fails("adam: epsilon is 0; it must be above 0"));
  EXPECT_THAT([] { rmsprop({.decay = 2}); }, fails("rmsprop: decay is 2; it must lie in [0, 1)"));
  EXPECT_THAT([] { adagrad({.initial_accumulator = 0}); },
              fails("adagrad: initial_accumulator is 0; it must be above 0"));
  EXPECT_THAT([] { ftrl({.learning_rate_power = 0.5}); },
              fails("ftrl: learning_rate_power is 0.5; it must be at most 0"));
  EXPECT_THAT([] { ftrl({.l1 = -1}); }, fails("ftrl: l1 is -1; it must be at least 0"));
  EXPECT_THAT([] { lamb({.epsilon = -1}); }, fails("lamb: epsilon is -1; it must be above 0"));
}

// ---- slots in fewer bits ------------------------------------------------------------------------

std::vector<Optimizer> optimizers_with(OptimizerState state) {
  return {momentum({.learning_rate = 0.5, .state = state}),
          adam({.learning_rate = 0.5, .state = state}),
          adamw({.learning_rate = 0.5, .state = state})};
}

TEST(OptimizerState, SlotsHaveItsTypes) {
  auto types = [](OptimizerState state) {
    Graph graph;
    Scope s(graph);
    Gradients gradients;
    for (std::int64_t n : {4096, 4095}) {
      Variable w = s.variable(concat("w", n), {{n}, DType::f32, zeros()});
      gradients.push_back({w, constant(graph, Array::zeros({n}, DType::f32))});
    }
    for (const Optimizer& optimizer : optimizers_with(state)) optimizer.apply(gradients, {});
    auto type = [&](const std::string& name) {
      return to_string(graph.find_variable(name)->output());
    };
    std::vector<std::string> out;
    for (const char* slot : {"/momentum/accumulator", "/adam/v", "/adamw/m"})
      for (const char* variable : {"w4096", "w4095"})
        out.push_back(type(variable + std::string(slot)));
    // Small variables in eight bits are a node of their own.
    EXPECT_EQ(graph.effects().size(), state == OptimizerState::eight_bits ? 6u : 3u);
    return out;
  };
  auto thrice = [](const std::string& a, const std::string& b) {
    return ElementsAre(a, b, a, b, a, b);
  };
  EXPECT_THAT(types(OptimizerState::as_variable), thrice("f32[4096]", "f32[4095]"));
  EXPECT_THAT(types(OptimizerState::bf16), thrice("bf16[4096]", "bf16[4095]"));
  EXPECT_THAT(types(OptimizerState::eight_bits), thrice("u8[16, 260]", "f32[4095]"));
}

// From w = 0 down the loss sum((w - 3)^2) / 2; a step of Adam is 0.5 at first.
TEST(OptimizerState, Descends) {
  for (auto state : {OptimizerState::bf16, OptimizerState::eight_bits})
    for (const Optimizer& optimizer : optimizers_with(state))
      for (bool fast : {true, false}) {
        SCOPED_TRACE(concat(optimizer.name, " ", state, fast ? " fast" : " reference"));
        Graph graph;
        Variable w = Scope(graph).variable("w", {{4200}, DType::f32, zeros()});
        Update update = minimize(sum(square(w - 3)) * 0.5, optimizer);
        apply_gradients(update, compute_gradients(update));
        Training training(graph, {update.loss}, fast);
        training.step();
        double first = optimizer.name == "momentum" ? 1.5 : 0.5;
        for (double x : training.variable("w")) ASSERT_NEAR(x, first, 1e-5);
        for (int i = 0; i < 200; ++i) training.step();
        for (double x : training.variable("w")) ASSERT_NEAR(x, 3, 0.1);
      }
}

TEST(OptimizerState, Errors) {
  EXPECT_THAT([] { adam({.lazy = true, .state = OptimizerState::bf16}); },
              fails("adam: lazy is true and state is bf16; lazy rows need slots as_variable: set "
                    "lazy to false or state to as_variable"));
  EXPECT_THAT([] { momentum({.lazy = true, .state = OptimizerState::eight_bits}); },
              fails("momentum: lazy is true and state is eight_bits"));
  Graph graph;
  Variable w = Scope(graph).variable("w", {{2}, DType::f64, zeros()});
  Gradients gradients{{w, constant(graph, Array::zeros({2}, DType::f64))}};
  EXPECT_THAT([&] { adam({.state = OptimizerState::bf16}).apply(gradients, {}); },
              fails("adam: variable `w` is f64[2] and the optimizer's state is bf16, which is for "
                    "variables of f32; make it f32 or set `state` to as_variable"));
  auto update = [](Tensor, Tensor, std::span<const UpdateGroup>, Tensor) {};
  EXPECT_THAT(
      [&] {
        make_optimizer("own", 0.1, {{"a", 1}}, update, OptimizerState::bf16);
      },
      fails("make_optimizer: slot `a` of `own` begins at 1 and its state is bf16, in which "
            "slots begin at 0; set the state to as_variable"));
}

// ---- lazy: rows without a gradient wait ---------------------------------------------------------

// Looks two rows of a table up in each step. The loss is half the sum of the squares of what is
// found: a row's gradient is its value times the number of look-ups. `textbook` changes a row that
// was looked up in step t = 1, 2, ...; the others stay.
void expect_lazy_descent(const Optimizer& optimizer, const Textbook& textbook, double v0 = 0) {
  using Lookups = std::vector<std::int64_t>;
  const std::vector<Lookups> steps = {{0, 1}, {2, 2}, {0, 2}, {1, 1}, {0, 0}};
  for (std::int64_t rows : {3, 8})  // large beside the look-ups or not
    for (bool fast : {true, false}) {
      Graph graph;
      std::vector<double> first(static_cast<std::size_t>(rows));
      std::iota(first.begin(), first.end(), 1);
      Variable table = Scope(graph).variable(
          "table",
          {{rows, 1}, DType::f64, given(Array::of(std::span<const double>(first), {rows, 1}))});
      Tensor ids = input(graph, "ids", {{2}, DType::i64});
      Tensor loss = sum(square(embedding_lookup(table, ids))) * 0.5;
      Update update = minimize(loss, optimizer, {table});
      apply_gradients(update, compute_gradients(update));
      Training training(graph, {loss}, fast);
      std::vector<Coordinate> expected;
      for (std::int64_t r = 0; r < rows; ++r)
        expected.push_back({static_cast<double>(r + 1), 0, v0, true});
      for (int t = 1; t <= std::ssize(steps); ++t) {
        const Lookups& found = steps[static_cast<std::size_t>(t - 1)];
        for (std::int64_t r = 0; r < rows; ++r) {
          auto& row = expected[static_cast<std::size_t>(r)];
          auto count = std::ranges::count(found, r);
          if (count > 0) textbook(row, row.w * static_cast<double>(count), t);
        }
        training.step({{"ids", Array::of(std::span(found), {2})}});
        std::vector<double> got = training.variable(table.name());
        for (std::size_t r = 0; r < expected.size(); ++r)
          ASSERT_NEAR(got[r], expected[r].w, 1e-14 * t) << "step " << t << ", row " << r;
      }
    }
}

TEST(Momentum, LazyLeavesRowsWithoutAGradientAlone) {
  expect_lazy_descent(momentum({.learning_rate = rate, .lazy = true}),
                      [](Coordinate& c, double g, int) {
                        c.m = 0.9 * c.m + g;
                        c.w -= rate * c.m;
                      });
}

TEST(Adam, LazyLeavesRowsWithoutAGradientAlone) {
  expect_lazy_descent(adam({.learning_rate = rate, .lazy = true}),
                      adam_textbook(0.9, 0.999, 1e-8, 0));
}

TEST(Ftrl, LazyLeavesRowsWithoutAGradientAlone) {
  expect_lazy_descent(
      ftrl({.learning_rate = rate, .l1 = 0.25, .l2 = 0.5, .lazy = true}),
      [](Coordinate& c, double g, int) {
        double grown = c.v + g * g;
        c.m += g - (std::sqrt(grown) - std::sqrt(c.v)) / rate * c.w;
        c.v = grown;
        double shrunk = std::max(std::abs(c.m) - 0.25, 0.0);
        c.w = -std::copysign(shrunk, c.m) / (std::sqrt(c.v) / rate + 2 * 0.5);
      },
      0.1);
}

// Weights from 0 under a constant rate: a row without a gradient would get the value that it has.
TEST(Ftrl, LazyChangesNoBitOfWhatBeganAtZero) {
  for (double power : {-0.5, -0.3})
    for (double penalty : {0.0, 0.01}) {
      auto trained = [&](bool lazy) {
        Graph graph;
        Variable table = Scope(graph).variable("table", {{9, 3}, DType::f32, zeros()});
        Tensor ids = input(graph, "ids", {{2}, DType::i64});
        Tensor found = embedding_lookup(table, ids);
        Update update = minimize(sum(exp(found)),
                                 ftrl({.learning_rate = 0.1,
                                       .learning_rate_power = power,
                                       .l1 = penalty,
                                       .l2 = penalty,
                                       .lazy = lazy}),
                                 {table});
        apply_gradients(update, compute_gradients(update));
        Training training(graph, {update.loss});
        for (std::int64_t t = 0; t < 20; ++t)
          training.step({{"ids", Array::of({t * 5 % 8, t * t % 7}, {2})}});
        return training.variable("table");
      };
      EXPECT_EQ(trained(true), trained(false)) << power << ", " << penalty;
    }
}

// By default a moment goes on falling, and moves the row.
TEST(Adam, WithoutLazyEveryRowMoves) {
  Graph graph;
  Variable table = Scope(graph).variable("table", {{8, 1}, DType::f64, ones()});
  Tensor ids = input(graph, "ids", {{2}, DType::i64});
  Update update = minimize(sum(embedding_lookup(table, ids)), adam({.learning_rate = rate}));
  apply_gradients(update, compute_gradients(update));
  Training training(graph, {update.loss});
  training.step({{"ids", Array::of({std::int64_t{0}, std::int64_t{1}}, {2})}});
  double after_one = training.variable("table")[0];
  training.step({{"ids", Array::of({std::int64_t{1}, std::int64_t{1}}, {2})}});
  EXPECT_LT(training.variable("table")[0], after_one);
  EXPECT_EQ(training.variable("table")[7], 1);
}

}  // namespace
}  // namespace belfry
