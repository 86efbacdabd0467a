// Covers multi_tensor.h, update.h, packed_update.h, updates.cu, lamb_update.cu,
// moving_average_update.cu, statistics_update.cu and clip_update.cu: the same updates on both
// devices, for more variables than one launch takes.

#include <functional>

#include "../on_gpu.h"
#include "belfry/framework/ops/update/clip_update.h"
#include "belfry/framework/ops/update/update_rule.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

/// Shapes of ranks 0, 1, 2; empty, of less than a pack, of several blocks of threads.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = [] {
    std::vector<Shape> out{{7}, {65, 33}, {0, 5}, {}, {2048}, {2049}};
    for (std::int64_t i = 0; i < 62; ++i) out.push_back({i % 5 + 1, 3});
    return out;
  }();
  return all;
}

using Values = std::map<std::string, Array>;

/// A step that changes variables; `build` adds its effects to the graph.
struct Step {
  std::function<void(const Scope&)> build = {};
  Values feed = {};

  Values on(const std::string& device, const Values& variables, bool fast) const {
    Graph graph;
    build(Scope(graph));
    VariableStore store(find_device(device));
    Executable executable(compile({}, graph.effects(), store.device(), {.fast = fast}), store, 1);
    for (const auto& [name, value] : variables) store.write(name, value);
    Features batch;
    for (const auto& [name, value] : feed) batch.set(name, value);
    executable.run(batch, {});
    Values after;
    for (const std::string& name : store.names()) after[name] = store.read(name);
    return after;
  }
};

void expect_same_on_gpu(const Step& step, const Values& variables, double allowed,
                        const std::string& what) {
  Values wanted = step.on("cpu", variables, false), got = step.on("cuda", variables, true);
  Values again = step.on("cuda", variables, true);
  ASSERT_EQ(got.size(), variables.size());
  for (const auto& [name, value] : wanted) {
    EXPECT_LE(relative_difference(got.at(name), value), allowed)
        << what << ", " << name << ", " << to_string(value.type());
    EXPECT_TRUE(identical(got.at(name), again.at(name))) << what << ", " << name;
  }
}

struct Rule {
  std::string name;
  int slots;
  std::function<void(Tensor rate, Tensor step, const std::vector<UpdateGroup>&, Tensor condition)>
      add;
};

template <class Options>
using WithoutStep = Node& (*)(Tensor, std::span<const UpdateGroup>, const Options&, Tensor);
template <class Options>
using WithStep = Node& (*)(Tensor, Tensor, std::span<const UpdateGroup>, const Options&, Tensor);

template <class Options>
Rule rule(std::string name, int slots, WithoutStep<Options> update,
          const std::type_identity_t<Options>& options = {}) {
  return {name, slots,
          [=](Tensor rate, Tensor, const std::vector<UpdateGroup>& groups, Tensor condition) {
            update(rate, groups, options, condition);
          }};
}
template <class Options>
Rule rule(std::string name, int slots, WithStep<Options> update,
          const std::type_identity_t<Options>& options = {}) {
  return {name, slots,
          [=](Tensor rate, Tensor step, const std::vector<UpdateGroup>& groups, Tensor condition) {
            update(rate, step, groups, options, condition);
          }};
}

std::vector<Rule> rules() {
  return {rule("sgd", 0, sgd_update, {.weight_decay = 0.1}),
          rule("momentum", 1, momentum_update, {.weight_decay = 0.1}),
          rule("nesterov", 1, momentum_update, {.nesterov = true}),
          rule("adam", 2, adam_update, {.weight_decay = 0.1}),
          rule("adam without decay", 2, adam_update),
          rule("rmsprop", 1, rmsprop_update, {.epsilon = 0.1}),
          rule("rmsprop with momentum", 2, rmsprop_update, {.momentum = 0.9, .epsilon = 0.1}),
          rule("centered rmsprop", 2, rmsprop_update, {.epsilon = 0.1, .centered = true}),
          rule("centered rmsprop with momentum", 3, rmsprop_update,
               {.momentum = 0.9, .epsilon = 0.1, .centered = true}),
          rule("adagrad", 1, adagrad_update),
          rule("ftrl", 2, ftrl_update, {.l1 = 0.1, .l2 = 0.1}),
          rule("ftrl of another power", 2, ftrl_update,
               {.learning_rate_power = -0.3, .l1 = 0.1, .l2 = 0.1}),
          rule("lazy momentum", 1, momentum_update, {.nesterov = true, .lazy = true}),
          rule("lazy adam", 2, adam_update, {.lazy = true}),
          rule("lazy ftrl", 2, ftrl_update, {.l1 = 0.1, .l2 = 0.1, .lazy = true}),
          rule("lamb", 2, lamb_update, {.weight_decay = 0.1})};
}

std::string variable_name(std::size_t g) { return "v" + text(g); }
std::string slot_name(std::size_t g, int k) { return concat("v", g, "_slot", k); }

/// The update of all shapes(); with a condition if it is 0 or 1.
Step step_of(const Rule& rule, DType dtype, int condition = -1) {
  Step step{.feed = {{"rate", Array::scalar(0.01f)}, {"step", Array::scalar(std::int64_t{3})}}};
  if (condition >= 0) step.feed["condition"] = Array::scalar(condition == 1);
  for (std::size_t g = 0; g < shapes().size(); ++g)
    step.feed[variable_name(g) + "_gradient"] = numbers(shapes()[g], dtype, -1, 3);
  step.build = [=](const Scope& scope) {
    Graph& graph = scope.graph();
    std::vector<UpdateGroup> groups;
    for (std::size_t g = 0; g < shapes().size(); ++g) {
      Scope::VariableArgs spec{.shape = shapes()[g], .dtype = dtype};
      groups.push_back({scope.variable(variable_name(g), spec),
                        input(graph, variable_name(g) + "_gradient", {spec.shape, dtype})});
      for (int k = 0; k < rule.slots; ++k)
        groups.back().slots.push_back(scope.variable(slot_name(g, k), spec));
    }
    rule.add(input(graph, "rate", {{}, DType::f32}), input(graph, "step", {{}, DType::i64}), groups,
             condition < 0 ? Tensor() : input(graph, "condition", {{}, DType::boolean}));
  };
  return step;
}

Values variables_of(const Rule& rule, DType dtype) {
  Values out;
  for (std::size_t g = 0; g < shapes().size(); ++g) {
    out[variable_name(g)] = numbers(shapes()[g], dtype);
    for (int k = 0; k < rule.slots; ++k) out[slot_name(g, k)] = numbers(shapes()[g], dtype, 1, 2);
  }
  return out;
}

TEST(CudaUpdates, EveryRuleAndType) {
  for (const Rule& rule : rules())
    for (auto [dtype, allowed] : {std::pair(DType::f64, 1e-14), std::pair(DType::f32, 2e-6),
                                  std::pair(DType::bf16, 0.008), std::pair(DType::f16, 0.001)})
      expect_same_on_gpu(step_of(rule, dtype), variables_of(rule, dtype), allowed, rule.name);
}

TEST(CudaUpdates, ConditionsHoldThemBack) {
  for (const Rule& rule : rules()) {
    Values before = variables_of(rule, DType::f32);
    expect_same_on_gpu(step_of(rule, DType::f32, 1), before, 2e-6, rule.name);
    for (const auto& [name, value] : step_of(rule, DType::f32, 0).on("cuda", before, true))
      EXPECT_TRUE(identical(value, before.at(name))) << rule.name << ", " << name;
  }
}

// Whole rows wait, wherever packs and threads cut them.
TEST(CudaUpdates, LazyRulesLeaveIdleRowsAlone) {
  Rule momentum = rule("lazy momentum", 1, momentum_update, {.lazy = true});
  // In rows 0, 3, ... each element has a gradient; in rows 1, 4, ... the last one; in others none.
  auto kind = [](const Shape& shape, std::int64_t i) {
    return shape.rank() == 2 ? i / shape[1] % 3 : 0;
  };
  for (DType dtype : floating_types) {
    Step step = step_of(momentum, dtype);
    for (std::size_t g = 0; g < shapes().size(); ++g) {
      const Shape& shape = shapes()[g];
      Array gradient = Array::zeros(shape, DType::f64);
      for (std::int64_t i = 0; i < shape.elements(); ++i)
        if (kind(shape, i) == 0 || (kind(shape, i) == 1 && (i + 1) % shape[1] == 0))
          gradient.span<double>()[static_cast<std::size_t>(i)] = 2;
      step.feed[variable_name(g) + "_gradient"] = gradient.cast(dtype);
    }
    Values before = variables_of(momentum, dtype);
    expect_same_on_gpu(step, before, dtype == DType::bf16 ? 0.008 : 0.001, momentum.name);
    Values after = step.on("cuda", before, true);
    for (std::size_t g = 0; g < shapes().size(); ++g)
      for (std::int64_t i = 0; i < shapes()[g].elements(); ++i) {
        std::string name = slot_name(g, 0);
        ASSERT_EQ(after.at(name).at(i) == before.at(name).at(i), kind(shapes()[g], i) == 2)
            << to_string(shapes()[g]) << ", element " << i << ", " << to_string(dtype);
      }
  }
}

// Slots in fewer bits, of more variables than one launch takes. Halves are exact, and products of
// numbers of few bits: slots are rounded from the same floats on every device.
Step packed_step(OptimizerState state, bool adam, int condition, Values& variables) {
  Step step{.feed = {{"rate", Array::scalar(0.01f)}, {"step", Array::scalar(std::int64_t{3})}}};
  if (condition >= 0) step.feed["condition"] = Array::scalar(condition == 1);
  std::vector<Shape> shapes{{4096}, {5000}, {4099}, {71, 67}, {5121}};
  while (state == OptimizerState::bf16 && shapes.size() < 260)
    shapes.push_back({static_cast<std::int64_t>(shapes.size() % 7), 3});
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    TensorType type{shapes[g], DType::f32}, kept = slot_type(type, state);
    Array gradient = numbers(shapes[g], DType::i64, -50, 50, g).cast(DType::f32);
    step.feed[variable_name(g) + "_gradient"] = gradient;
    variables[variable_name(g)] = numbers(shapes[g], DType::f32);
    for (int k = 0; k <= (adam ? 1 : 0); ++k) {
      Array values = numbers(shapes[g], DType::f32, 0, 2, g), packed(kept);
      const std::int64_t random[] = {1, 2, 3};
      pack_slot(values.span<float>(), random, 0, k, k == 0, {kept, packed.raw()});
      variables[slot_name(g, k)] = packed;
    }
  }
  step.build = [=](const Scope& scope) {
    Graph& graph = scope.graph();
    std::vector<UpdateGroup> groups;
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      TensorType type{shapes[g], DType::f32}, kept = slot_type(type, state);
      groups.push_back({scope.variable(variable_name(g), {.shape = type.shape}),
                        input(graph, variable_name(g) + "_gradient", type)});
      for (int k = 0; k <= (adam ? 1 : 0); ++k)
        groups.back().slots.push_back(
            scope.variable(slot_name(g, k), {.shape = kept.shape, .dtype = kept.dtype}));
    }
    Tensor rate = input(graph, "rate", {{}, DType::f32}),
           number = input(graph, "step", {{}, DType::i64}),
           holds = condition < 0 ? Tensor() : input(graph, "condition", {{}, DType::boolean});
    if (adam)
      adam_update(rate, number, groups, {.beta1 = 0.5, .beta2 = 0.5, .state = state}, holds);
    else
      momentum_update(rate, groups, {.momentum = 0.5, .state = state}, holds);
  };
  return step;
}

TEST(CudaUpdates, SlotsInFewerBits) {
  for (auto state : {OptimizerState::bf16, OptimizerState::eight_bits})
    for (bool adam : {false, true})
      for (int condition : {-1, 0, 1}) {
        Values before;
        Step step = packed_step(state, adam, condition, before);
        expect_same_on_gpu(step, before, 2e-6, concat(state, adam ? " adam" : " momentum"));
        for (const auto& [name, after] : step.on("cuda", before, true))
          EXPECT_EQ(identical(after, before.at(name)), condition == 0 || after.elements() == 0)
              << name;
      }
}

TEST(CudaUpdates, LambOfNothingButZeros) {
  Rule lamb = rule("lamb", 2, lamb_update);
  Step step = step_of(lamb, DType::f32);
  Values variables = variables_of(lamb, DType::f32);
  for (auto* values : {&step.feed, &variables})
    for (auto& [name, value] : *values)
      if (name != "rate" && name != "step" && !name.ends_with("slot1"))
        value = Array::zeros(value.shape(), DType::f32);
  expect_same_on_gpu(step, variables, 0, "zeros");
}

constexpr DType types[] = {DType::f32, DType::bf16, DType::f64, DType::f16};

Step averages(bool warm_up, int condition) {
  Step step;
  if (condition >= 0) step.feed["condition"] = Array::scalar(condition == 1);
  step.build = [=](const Scope& scope) {
    std::vector<AverageGroup> groups;
    for (std::size_t g = 0; g < shapes().size(); ++g) {
      Scope::VariableArgs spec{.shape = shapes()[g], .dtype = types[g % 4]};
      groups.push_back({scope.variable(variable_name(g), spec),
                        scope.variable(variable_name(g) + "_average", spec),
                        scope.variable(variable_name(g) + "_count", {.dtype = DType::i64})});
    }
    moving_average_update(
        groups, {.decay = 0.9, .warm_up = warm_up},
        condition < 0 ? Tensor() : input(scope.graph(), "condition", {{}, DType::boolean}));
  };
  return step;
}

TEST(CudaUpdates, MovingAverages) {
  Values variables;
  for (std::size_t g = 0; g < shapes().size(); ++g) {
    variables[variable_name(g)] = numbers(shapes()[g], types[g % 4]);
    variables[variable_name(g) + "_average"] = numbers(shapes()[g], types[g % 4], 0, 3);
    // 0: the first takes the value.
    variables[variable_name(g) + "_count"] = Array::scalar(static_cast<std::int64_t>(g % 9));
  }
  for (bool warm_up : {false, true})
    for (int condition : {-1, 0, 1})
      expect_same_on_gpu(averages(warm_up, condition), variables, 0.001,
                         concat("averages ", warm_up, condition));
}

TEST(CudaUpdates, MovingStatistics) {
  Step step;
  step.build = [](const Scope& scope) {
    std::vector<Tensor> inputs;
    StatisticsUpdateOptions options;
    for (std::size_t g = 0; g < shapes().size(); ++g) {
      for (const char* name : {"", "_of_batch"})
        inputs.push_back(scope.variable(variable_name(g) + name, {.shape = shapes()[g]}));
      options.scales.push_back(double{1 + static_cast<float>(g) / 3});
      options.rates.push_back(double{0.1f});
    }
    apply(statistics_update_op, inputs, options);
  };
  Values variables;
  for (std::size_t g = 0; g < shapes().size(); ++g)
    for (const char* name : {"", "_of_batch"})
      variables[variable_name(g) + name] = numbers(shapes()[g], DType::f32, -2, 2, 2 * g + *name);
  expect_same_on_gpu(step, variables, 0, "statistics");
}

Step clips(int condition) {
  Step step;
  if (condition >= 0) step.feed["condition"] = Array::scalar(condition == 1);
  step.build = [=](const Scope& scope) {
    std::vector<Variable> variables;
    for (std::size_t g = 0; g < shapes().size(); ++g)
      variables.push_back(
          scope.variable(variable_name(g), {.shape = shapes()[g], .dtype = types[g % 4]}));
    clip_update(variables, {.limit = 0.3},
                condition < 0 ? Tensor() : input(scope.graph(), "condition", {{}, DType::boolean}));
  };
  return step;
}

TEST(CudaUpdates, Clips) {
  Values variables;
  for (std::size_t g = 0; g < shapes().size(); ++g)
    variables[variable_name(g)] = numbers(shapes()[g], types[g % 4], -1, 1);
  for (int condition : {-1, 0, 1})
    expect_same_on_gpu(clips(condition), variables, 0, concat("clips ", condition));
}

}  // namespace
}  // namespace belfry
