#include <functional>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/update_rule.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

/// Three variables of odd sizes, one large enough to be shared, with slots above 0.
const std::vector<Shape> shapes{{7}, {129, 257}, {3, 3}};

struct Problem {
  Graph graph;
  std::vector<UpdateGroup> groups;
  std::vector<Array> arrays;  ///< of the groups, in the order of an update's inputs
  Tensor rate = input(graph, "rate", {{}, DType::f32});
  Tensor step = input(graph, "step", {{}, DType::i64});

  explicit Problem(int slots) {
    Scope scope(graph);
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      std::string name = "v" + std::to_string(g);
      UpdateGroup group{scope.variable(name, {.shape = shapes[g]}),
                        input(graph, name + "/gradient", {shapes[g], DType::f32})};
      arrays.push_back(random_array(shapes[g], 10 * g));
      arrays.push_back(random_array(shapes[g], 10 * g + 1));
      for (int k = 0; k < slots; ++k) {
        std::string slot = name + "_slot" + std::to_string(k);
        group.slots.push_back(scope.variable(slot, {.shape = shapes[g]}));
        arrays.push_back(random_array(shapes[g], 10 * g + 2 + static_cast<std::uint64_t>(k), 0.1f));
      }
      groups.push_back(group);
    }
  }

  std::vector<Array> inputs(bool with_step) const {
    std::vector<Array> out{Array::scalar(0.01f)};
    if (with_step) out.push_back(Array::scalar(std::int64_t{3}));
    out.insert(out.end(), arrays.begin(), arrays.end());
    return out;
  }
};

TEST(SimdUpdate, Sgd) {
  for (double decay : {0.0, 0.1}) {
    Problem p(0);
    expect_simd_matches_reference(sgd_update(p.rate, p.groups, {.weight_decay = decay}),
                                  p.inputs(false));
  }
}

TEST(SimdUpdate, Momentum) {
  for (bool nesterov : {false, true}) {
    Problem p(1);
    expect_simd_matches_reference(
        momentum_update(p.rate, p.groups, {.nesterov = nesterov, .weight_decay = 0.1}),
        p.inputs(false));
  }
}

TEST(SimdUpdate, Adam) {
  for (double decay : {0.0, 0.1}) {
    Problem p(2);
    expect_simd_matches_reference(adam_update(p.rate, p.step, p.groups, {.weight_decay = decay}),
                                  p.inputs(true));
  }
}

TEST(SimdUpdate, Rmsprop) {
  for (double momentum : {0.0, 0.9})
    for (bool centered : {false, true}) {
      RmspropUpdateOptions options{.momentum = momentum, .epsilon = 0.1, .centered = centered};
      Problem p(update::Rmsprop<float>::slot_count(options));
      expect_simd_matches_reference(rmsprop_update(p.rate, p.groups, options), p.inputs(false), 32);
    }
}

TEST(SimdUpdate, Adagrad) {
  Problem p(1);
  expect_simd_matches_reference(adagrad_update(p.rate, p.groups), p.inputs(false));
}

TEST(SimdUpdate, Ftrl) {
  for (double power : {-0.5, -0.3, 0.0}) {
    Problem p(2);
    expect_simd_matches_reference(
        ftrl_update(p.rate, p.groups, {.learning_rate_power = power, .l1 = 0.1, .l2 = 0.1}),
        p.inputs(false), 64);
  }
}

TEST(SimdUpdate, Lamb) {
  for (double decay : {0.0, 0.1}) {
    Problem p(2);
    expect_simd_matches_reference(lamb_update(p.rate, p.step, p.groups, {.weight_decay = decay}),
                                  p.inputs(true), 16);
  }
}

// A lazy rule leaves whole rows alone, wherever threads cut them.
TEST(SimdUpdate, LazyRulesLeaveIdleRowsAlone) {
  Problem p(1);
  auto gradient = p.arrays[4].span<float>();  // of a variable [129, 257]
  for (std::size_t row : {0u, 3u, 4u, 70u, 128u})
    for (std::size_t i = row * 257; i < (row + 1) * 257; ++i) gradient[i] = 0;
  gradient[4 * 257 + 256] = 1;  // not all of row 4
  Node& node = momentum_update(p.rate, p.groups, {.lazy = true});
  expect_simd_matches_reference(node, p.inputs(false));
  auto after = run_kernel(*find_kernel(node, 2), node, p.inputs(false));
  for (std::size_t row = 0; row < 129; ++row) {
    bool idle = row == 0 || row == 3 || row == 70 || row == 128;
    auto at = static_cast<std::int64_t>(row) * 257;
    EXPECT_EQ(after[3].at(at) == p.arrays[5].at(at), idle) << row;
  }
}

// Slots in fewer bits. Halves are exact, and products of numbers of few bits: slots are rounded
// from the same floats on every instruction set, and have the same bits.
struct PackedProblem {
  Graph graph;
  std::vector<UpdateGroup> groups;
  std::vector<Array> arrays;
  Tensor rate = input(graph, "rate", {{}, DType::f32});
  Tensor step = input(graph, "step", {{}, DType::i64});

  PackedProblem(int slots, OptimizerState state) {
    Scope scope(graph);
    for (std::int64_t n : {4096, 5000, 4099, 70'000}) {
      std::string name = "v" + std::to_string(n);
      TensorType type{{n}, DType::f32}, kept = slot_type(type, state);
      UpdateGroup group{scope.variable(name, {.shape = type.shape}),
                        input(graph, name + "/gradient", type)};
      auto seed = static_cast<std::uint64_t>(n);
      arrays.push_back(random_array(type.shape, seed));
      arrays.push_back(random_integers(type.shape, DType::f32, 200, seed + 1));
      for (int k = 0; k < slots; ++k) {
        group.slots.push_back(scope.variable(name + "_slot" + std::to_string(k),
                                             {.shape = kept.shape, .dtype = kept.dtype}));
        arrays.emplace_back(kept);
        Array values = random_array(type.shape, seed + 2 + static_cast<std::uint64_t>(k), 0.1f);
        const std::int64_t random[] = {1, 2, 3};
        pack_slot(values.span<float>(), random, 0, k, k == 0, {kept, arrays.back().raw()});
      }
      groups.push_back(group);
    }
  }
  std::vector<Array> inputs(bool with_step) const {
    std::vector<Array> out{Array::scalar(0.01f)};
    if (with_step) out.push_back(Array::scalar(std::int64_t{3}));
    out.push_back(Array::of({std::int64_t{9}, std::int64_t{3}, std::int64_t{64}}));
    out.insert(out.end(), arrays.begin(), arrays.end());
    return out;
  }
};

TEST(SimdUpdate, SlotsInFewerBits) {
  for (auto state : {OptimizerState::bf16, OptimizerState::eight_bits}) {
    for (bool nesterov : {false, true}) {
      PackedProblem p(1, state);
      Node& node = momentum_update(p.rate, p.groups,
                                   {.momentum = 0.5, .nesterov = nesterov, .state = state});
      expect_simd_matches_reference(node, p.inputs(false));
    }
    for (double decay : {0.0, 0.1}) {
      PackedProblem p(2, state);
      Node& node = adam_update(p.rate, p.step, p.groups,
                               {.beta1 = 0.5, .beta2 = 0.5, .weight_decay = decay, .state = state});
      expect_simd_matches_reference(node, p.inputs(true));
    }
  }
}

// With a condition: as without one where it holds, and the same bits as before where it does not.
void expect_condition_holds_back(const Node& node, std::vector<Array> inputs, std::size_t place) {
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(place), Array::scalar(true));
  expect_simd_matches_reference(node, inputs, 64);
  inputs[place] = Array::scalar(false);
  expect_simd_matches_reference(node, inputs, 0);
  for (int threads : {1, 2}) {
    std::vector<Array> after = run_kernel(*find_kernel(node, threads), node, inputs);
    std::vector<int> mutated = node.mutated();
    ASSERT_EQ(after.size(), mutated.size());
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_TRUE(identical(after[i], inputs[static_cast<std::size_t>(mutated[i])]))
          << to_string(node) << ", input " << mutated[i];
  }
}

TEST(SimdUpdate, FalseConditionsHoldEveryRuleBack) {
  using Make = std::function<Node&(Problem&, Tensor condition)>;
  struct Case {
    int slots;
    bool with_step;
    Make make;
  };
  auto rmsprop = [](Problem& p, Tensor c) -> Node& {
    return rmsprop_update(p.rate, p.groups, {.momentum = 0.9, .centered = true}, c);
  };
  for (const Case& c : {
           Case{0, false,
                [](Problem&p, Tensor c) -> Node& { return sgd_update(p.rate, p.groups, {}, c); }},
           Case{1, false,
                [](Problem&p, Tensor c) -> Node& {
                  return momentum_update(p.rate, p.groups, {}, c);
                }},
           Case{2, true,
                [](Problem&p, Tensor c) -> Node& {
                  return adam_update(p.rate, p.step, p.groups, {}, c);
                }},
           Case{3, false, rmsprop},
           Case{1, false,
                [](Problem&p, Tensor c) -> Node& {
                  return adagrad_update(p.rate, p.groups, {}, c);
                }},
           Case{2, false,
                [](Problem&p, Tensor c) -> Node& { return ftrl_update(p.rate, p.groups, {}, c); }},
           Case{2, true,
                [](Problem&p, Tensor c) -> Node& {
                  return lamb_update(p.rate, p.step, p.groups, {}, c);
                }},
       }) {
    Problem p(c.slots);
    Tensor condition = input(p.graph, "condition", {{}, DType::boolean});
    expect_condition_holds_back(c.make(p, condition), p.inputs(c.with_step), c.with_step ? 2 : 1);
  }
}

TEST(SimdUpdate, FalseConditionsHoldSlotsInFewerBitsBack) {
  for (auto state : {OptimizerState::bf16, OptimizerState::eight_bits}) {
    PackedProblem p(2, state);
    Tensor condition = input(p.graph, "condition", {{}, DType::boolean});
    expect_condition_holds_back(
        adam_update(p.rate, p.step, p.groups, {.beta1 = 0.5, .beta2 = 0.5, .state = state},
                    condition),
        p.inputs(true), 3);
  }
}

TEST(SimdUpdate, MovingAverage) {
  Graph graph;
  Scope scope(graph);
  std::vector<AverageGroup> groups;
  std::vector<Array> inputs{Array::scalar(true)};
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    std::string name = "v" + std::to_string(g);
    groups.push_back({scope.variable(name, {.shape = shapes[g]}),
                      scope.variable(name + "_average", {.shape = shapes[g]}),
                      scope.variable(name + "_count", {.shape = {}, .dtype = DType::i64})});
    inputs.push_back(random_array(shapes[g], 10 * g));
    inputs.push_back(random_array(shapes[g], 10 * g + 1));
    inputs.push_back(Array::scalar(static_cast<std::int64_t>(g)));  // 0: the first takes the value
  }
  Tensor condition = input(graph, "condition", {{}, DType::boolean});
  for (bool warm_up : {false, true}) {
    Node& node = moving_average_update(groups, {.decay = 0.9, .warm_up = warm_up}, condition);
    inputs[0] = Array::scalar(true);
    expect_simd_matches_reference(node, inputs);
    inputs[0] = Array::scalar(false);
    expect_simd_matches_reference(node, inputs, 0);
  }
}

}  // namespace
}  // namespace belfry::cpu
