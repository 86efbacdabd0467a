// Packs and unpackings between the kernels of a plan, on a device whose kernels only say what they
// want.

#include "belfry/framework/compiler/plan_steps.h"

#include "../backend/device_without_memory.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/update/updates.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

class PackingKernel final : public NamedKernel {
 public:
  using NamedKernel::NamedKernel;
  std::vector<PackedInput> packed_inputs() const override { return inputs; }
  std::optional<PackedOutput> packed_output() const override { return output; }
  std::vector<PackedInput> inputs;
  std::optional<PackedOutput> output;
};

// Products want their second factor packed, as 16 bits or of f32; softmax leaves its result packed.
class PackingDevice final : public DeviceWithoutMemory {
 public:
  std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions&) override {
    auto kernel = std::make_unique<PackingKernel>(std::string(node.op().name));
    Bytes size(100);
    if (node.is(matmul_op))
      kernel->inputs = {{.input = 1,
                         .layout = "tiles",
                         .size = size,
                         .pack = std::make_shared<NamedKernel>("pack"),
                         .pack_uncast = std::make_shared<NamedKernel>("pack of f32")}};
    if (node.is(softmax_op))
      kernel->output = {.size = size,
                        .unpack = std::make_shared<NamedKernel>("unpack"),
                        .unpack_to_f32 = std::make_shared<NamedKernel>("unpack to f32")};
    return kernel;
  }
  std::shared_ptr<Kernel> together(std::span<const std::shared_ptr<Kernel>> kernels) override {
    std::string name(kernels[0]->implementation());
    for (const auto& kernel : kernels)
      if (kernel->implementation() != name) return nullptr;
    return std::make_shared<NamedKernel>(name);
  }
};

struct Packing : testing::Test {
  // "kernel inputs -> outputs" of each instruction.
  std::vector<std::string> steps(const std::vector<Tensor>& outputs,
                                 const std::vector<Node*>& effects = {},
                                 const RecomputeOptions& recompute = {}) {
    plan = compile(outputs, effects, device, {.verify = true, .recompute = recompute});
    std::vector<std::string> out;
    for (const Instruction& i : plan->instructions)
      out.push_back(concat(i.kernel->implementation(), " ", i.inputs.size()));
    return out;
  }
  Tensor weights(const std::string& name) {
    Variable w = Scope(graph).variable(name, {.shape = {4, 4}});
    return cast(w, DType::bf16);
  }
  Graph graph;
  Tensor x = input(graph, "x", {{2, 4}, DType::bf16});
  PackingDevice device;
  std::shared_ptr<const Plan> plan;
};

TEST_F(Packing, WeightsArePackedTogetherAndTheirCastsSpared) {
  Tensor y = matmul(matmul(x, weights("a")), weights("b"));
  EXPECT_THAT(steps({y}), ElementsAre("pack of f32 2", "matmul 2", "matmul 2"));
  const Instruction& pack = plan->instructions[0];
  EXPECT_EQ(pack.role, InstructionRole::pack);
  std::vector<std::string> names;
  for (const Location& variable : pack.inputs) {
    ASSERT_EQ(variable.kind, Location::Kind::variable);
    names.push_back(plan->variables[variable.position]->as<VariableOptions>().name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b"));
  EXPECT_EQ(pack.outputs[0], plan->instructions[1].inputs[1]);
  EXPECT_EQ(pack.outputs[1], plan->instructions[2].inputs[1]);
  EXPECT_EQ(pack.packed_bytes, 2 * (64 + 100));
}

TEST_F(Packing, OneFormServesAllItsReaders) {
  Tensor w = weights("a");
  EXPECT_THAT(steps({matmul(matmul(x, w), w)}),
              ElementsAre("pack of f32 1", "matmul 2", "matmul 2"));
}

TEST_F(Packing, ACastThatOthersReadIsComputedBeforeThem) {
  Tensor w = weights("a");
  EXPECT_THAT(steps({matmul(x, w), sum(w)}),
              ElementsAre("pack of f32 1", "matmul 2", "cast 1", "sum 1"));
  EXPECT_THAT(steps({w}), ElementsAre("cast 1"));
  EXPECT_EQ(plan->outputs[0], plan->instructions[0].outputs[0]);
}

TEST_F(Packing, CastsOfWeightsGoTogether) {
  EXPECT_THAT(steps({sum(weights("a")), sum(weights("b"))}),
              ElementsAre("cast 2", "sum 1", "sum 1"));
  const Instruction& casts = plan->instructions[0];
  EXPECT_EQ(casts.role, InstructionRole::pack);
  EXPECT_EQ(casts.outputs[1], plan->instructions[2].inputs[0]);
  EXPECT_EQ(casts.packed_bytes, 2 * (64 + 32));
  EXPECT_THAT(steps({sum(weights("c")), sum(weights("d"))}, {}, {.most_bytes = 1}),
              ElementsAre("cast 1", "sum 1", "cast 1", "sum 1"));
}

// One that others read, too, is cast where they need it.
TEST_F(Packing, CastsOfGradientsThatUpdatesReadGoTogether) {
  std::vector<Tensor> gradients;
  {
    Graph::PlacementGuard guard(graph, {"", 0, Phase::backward});
    for (const char* name : {"a", "b", "c"})
      gradients.push_back(cast(tanh(input(graph, name, {{4}, DType::bf16})), DType::f32));
  }
  std::vector<Node*> effects;
  for (const Tensor& t : gradients)
    effects.push_back(
        &assign(Scope(graph).variable(concat("w", effects.size()), {.shape = {4}}), t));
  EXPECT_THAT(steps({sum(gradients[1])}, effects),
              ElementsAre("tanh 1", "tanh 1", "cast 1", "tanh 1", "sum 1", "cast 2", "assign 2",
                          "assign 2", "assign 2"));
}

// It would be there from the beginning.
TEST_F(Packing, ACastThatIsComputedAgainStaysWhereItIsRead) {
  Tensor early = sum(weights("a")), late;
  {
    Graph::PlacementGuard guard(graph, {"", 0, Phase::recompute});
    late = sum(weights("b"));
  }
  EXPECT_THAT(steps({early, late}), ElementsAre("cast 1", "sum 1", "cast 1", "sum 1"));
}

// A reduction that is under way is finished first.
TEST_F(Packing, ASumOverTowersIsNotCastBeforeItIsThere) {
  Tensor all;
  {
    Graph::PlacementGuard guard(graph, {"", 0, Phase::backward});
    Tensor x = tanh(input(graph, "a", {{4}, DType::bf16}));
    all = cast(Tensor(apply(all_reduce_op, {x}, AllReduceOptions{.name = "sum"})), DType::f32);
  }
  Node& effect = assign(Scope(graph).variable("w", {.shape = {4}}), all);
  plan = compile({}, std::vector<Node*>{&effect}, device, {.verify = true});
  std::vector<InstructionRole> roles;
  for (const Instruction& i : plan->instructions) roles.push_back(i.role);
  using Role = InstructionRole;
  EXPECT_THAT(roles,
              ElementsAre(Role::compute, Role::start, Role::finish, Role::compute, Role::compute));
}

TEST_F(Packing, WhatIsNoWeightIsPackedWhereItIsMade) {
  Tensor factor = softmax(input(graph, "factor", {{4, 4}, DType::bf16}));
  EXPECT_THAT(
      steps({matmul(x, factor),
             matmul(x, sum(input(graph, "z", {{2, 4, 4}, DType::bf16}), {.axes = {0}}))}),
      ElementsAre("softmax 1", "unpack 1", "pack 1", "matmul 2", "sum 1", "pack 1", "matmul 2"));
}

TEST_F(Packing, WhatWasLeftPackedIsUnpackedTogetherAndCast) {
  auto left = [&](const char* name) {
    return cast(softmax(input(graph, name, {{4, 4}, DType::bf16})), DType::f32);
  };
  Tensor a = left("a"), b = left("b");
  EXPECT_THAT(steps({sum(a), sum(b)}),
              ElementsAre("softmax 1", "softmax 1", "unpack to f32 2", "sum 1", "sum 1"));
  const Instruction& unpack = plan->instructions[2];
  EXPECT_EQ(unpack.inputs[0], plan->instructions[0].outputs[0]);
  EXPECT_EQ(unpack.outputs[0], plan->instructions[3].inputs[0]);
  EXPECT_EQ(unpack.outputs[1], plan->instructions[4].inputs[0]);
  // A program's results, too.
  EXPECT_THAT(steps({a}), ElementsAre("softmax 1", "unpack to f32 1"));
  EXPECT_EQ(plan->outputs[0], plan->instructions[1].outputs[0]);
}

TEST_F(Packing, WhatIsReadUncastIsUnpackedAsItIs) {
  Tensor left = softmax(input(graph, "a", {{4, 4}, DType::bf16}));
  EXPECT_THAT(steps({sum(left), sum(cast(left, DType::f32))}),
              ElementsAre("softmax 1", "unpack 1", "sum 1", "cast 1", "sum 1"));
}

// An effect reads the variable's cast as it was before the step.
TEST_F(Packing, EffectsReadWhatWasDeferred) {
  Variable w = Scope(graph).variable("w", {.shape = {4, 4}});
  Variable copy = Scope(graph).variable("copy", {.shape = {4, 4}, .dtype = DType::bf16});
  Tensor narrow = cast(w, DType::bf16);
  Node& written = assign(w, f32(graph, "new", {4, 4}));
  Node& kept = assign(copy, narrow);
  EXPECT_THAT(steps({}, {&written, &kept}), ElementsAre("cast 1", "assign 2", "assign 2"));
  EXPECT_EQ(plan->first_effect, 1);
}

// Forms that lie far apart are made again where memory is short, so none is made for later.
TEST_F(Packing, WhereMemoryIsShortEachIsPackedByItself) {
  Tensor y = matmul(matmul(x, weights("a")), weights("b"));
  EXPECT_THAT(steps({y}, {}, {.most_bytes = 1}),
              ElementsAre("pack of f32 1", "matmul 2", "pack of f32 1", "matmul 2"));
  auto left = [&](const char* name) {
    return cast(softmax(input(graph, name, {{4, 4}, DType::bf16})), DType::f32);
  };
  EXPECT_THAT(steps({left("c"), left("d")}, {}, {.most_bytes = 1}),
              ElementsAre("softmax 1", "unpack to f32 1", "softmax 1", "unpack to f32 1"));
  Tensor e = softmax(f32(graph, "e", {4, 4})), f = softmax(f32(graph, "f", {4, 4}));
  EXPECT_THAT(steps({e, f}, {}, {.most_bytes = 1}),
              ElementsAre("softmax 1", "unpack 1", "softmax 1", "unpack 1"));
}

}  // namespace
}  // namespace belfry
