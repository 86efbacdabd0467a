#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/transfer.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::Truly;

// Nodes made while it lives are on this device.
Graph::PlacementGuard on(Graph& graph, int device, Phase phase = Phase::forward) {
  return Graph::PlacementGuard(graph, {concat("part", device), device, phase});
}

class Partitioning : public ::testing::Test {
 protected:
  Partition cut(const std::vector<Tensor>& outputs, int devices = 2) {
    return partition(program_of(outputs, graph.effects()), devices);
  }
  std::shared_ptr<const TowerPlan> compile_for_two(const std::vector<Tensor>& outputs) {
    return compile_tower(outputs, graph.effects(), std::vector<Device*>(2, device.get()),
                         {.verify = true});
  }
  Graph graph;
  Tensor x = f32(graph, "x", {2, 3});
  std::shared_ptr<Device> device = find_device("cpu");
};

TEST_F(Partitioning, AValueIsSentOnceHoweverManyReadIt) {
  Tensor a = exp(x), b, c;
  {
    auto there = on(graph, 1);
    b = sqrt(a);
    c = sum(a);
  }
  Partition parts = cut({b, a, c});
  EXPECT_THAT(ops_of(parts.programs[0]), ElementsAre("exp", "send"));
  EXPECT_THAT(ops_of(parts.programs[1]), ElementsAre("receive", "sqrt", "sum"));
  ASSERT_EQ(parts.outputs.size(), 3u);
  EXPECT_EQ(parts.outputs[0].device, 1);
  EXPECT_EQ(parts.outputs[1].device, 0);
  EXPECT_EQ(parts.outputs[2].device, 1);
  EXPECT_EQ(parts.outputs[2].index, 1);
  const auto& sent = parts.programs[0].effects[0]->as<TransferOptions>();
  EXPECT_EQ(sent.name, "exp");
  EXPECT_EQ(sent.from, 0);
  EXPECT_EQ(sent.to, 1);
  EXPECT_EQ(sent.type, a.type());
}

TEST_F(Partitioning, EachDeviceThatReadsGetsItsOwn) {
  Tensor a = exp(x), b, c;
  {
    auto there = on(graph, 1);
    b = sqrt(a);
  }
  {
    auto there = on(graph, 2);
    c = a + b;
  }
  Partition parts = cut({c}, 3);
  EXPECT_THAT(ops_of(parts.programs[0]), ElementsAre("exp", "send", "send"));
  EXPECT_THAT(ops_of(parts.programs[1]), ElementsAre("receive", "sqrt", "send"));
  EXPECT_THAT(ops_of(parts.programs[2]), ElementsAre("receive", "receive", "add"));
}

TEST_F(Partitioning, AConstantMayBeAnOutput) {
  Tensor three;
  {
    auto there = on(graph, 3);
    three = constant(graph, 3, DType::f32);
  }
  Partition parts = cut({exp(x), three});
  EXPECT_EQ(parts.outputs[1].device, 0);
}

TEST_F(Partitioning, InputsConstantsAndTheStepAreEverybodys) {
  Tensor a = x * 2.0, b;
  a = a + cast(global_step(graph), DType::f32);
  {
    auto there = on(graph, 1);
    b = x * constant(graph, 3, DType::f32);
    b = b + cast(global_step(graph), DType::f32);
  }
  Partition parts = cut({a, b});
  EXPECT_THAT(ops_of(parts.programs[0]), ElementsAre("mul", "cast", "add"));
  EXPECT_THAT(ops_of(parts.programs[1]), ElementsAre("mul", "cast", "add"));
}

TEST_F(Partitioning, AVariableIsOnItsDeviceAndEffectsFollowIt) {
  Variable w = Scope(graph).on(1).variable("w", {.shape = {2, 3}});
  Tensor doubled = w * 2.0;
  {
    auto here = on(graph, 0);
    doubled = w * x;
    assign(w, doubled);  // computed here, written there
  }
  Partition parts = cut({});
  EXPECT_THAT(ops_of(parts.programs[0]), ElementsAre("receive", "mul", "send"));
  EXPECT_THAT(ops_of(parts.programs[1]), ElementsAre("send", "receive", "assign"));
  EXPECT_EQ(parts.programs[0].graph->variables().size(), 0u);
  EXPECT_EQ(parts.programs[1].graph->variables().size(), 1u);
}

TEST_F(Partitioning, OneDeviceIsLeftAsItIs) {
  Partition parts = cut({sum(exp(x))}, 1);
  EXPECT_THAT(ops_of(parts.programs[0]), ElementsAre("exp", "sum"));
  EXPECT_THAT(parts.programs[0].effects, IsEmpty());
}

TEST_F(Partitioning, SendsAtOnceAndReceivesLate) {
  Tensor a = exp(x), later = matmul(a, f32(graph, "k", {3, 4})), own, both;
  {
    auto there = on(graph, 1);
    own = matmul(x, f32(graph, "l", {3, 3}));
    both = matmul(own, f32(graph, "m", {3, 3})) - a;
  }
  auto plan = compile_for_two({later, both});
  using Role = Instruction::Role;
  auto roles = [&](int device) {
    std::vector<Role> out;
    for (const Instruction& i : plan->plans[static_cast<std::size_t>(device)]->instructions)
      if (i.role != Role::pack) out.push_back(i.role);
    return out;
  };
  EXPECT_THAT(roles(0), ElementsAre(Role::compute, Role::send, Role::compute));
  EXPECT_THAT(roles(1), ElementsAre(Role::compute, Role::compute, Role::receive, Role::compute));
  auto is_received = [](const PlannedBlock& b) { return b.use == MemoryUse::received; };
  EXPECT_THAT(plan->plans[0]->blocks, Not(Contains(Truly(is_received))));
  const auto& blocks = plan->plans[1]->blocks;
  auto received = std::ranges::find_if(blocks, is_received);
  ASSERT_NE(received, blocks.end());
  // It may arrive before device 1 has done anything, and is read last.
  EXPECT_EQ(received->bytes, 24);
  EXPECT_EQ(received->first, 0);
  EXPECT_EQ(received->last, 3);
  EXPECT_THAT(explain(*plan), AllOf(StartsWith("device 0\nplan: "), HasSubstr("device 1\nplan: "),
                                    HasSubstr("from other devices"),
                                    HasSubstr("received from device 0 f32[2, 3]")));
}

TEST_F(Partitioning, NothingIsFusedAcrossDevices) {
  Tensor bias = f32(graph, "bias", {3}), kernel = f32(graph, "k", {3, 3}), y, z;
  Tensor product = matmul(x, kernel), norm = batch_norm_train(x, bias, bias).y;
  Tensor chain = exp(x);
  {
    auto there = on(graph, 1);
    y = relu(product + bias);
    z = relu(norm);
    chain = sqrt(chain);
  }
  Program fused = fuse_batch_norm(program_of({y, z, chain}), [](int) { return true; });
  for (auto pass : {fuse_bias_and_activation, fuse_elementwise}) fused = pass(fused);
  Partition parts = partition(fused, 2);
  EXPECT_THAT(ops_of(parts.programs[0]),
              ElementsAre("matmul", "batch_norm_train", "exp", "send", "send", "send"));
  EXPECT_THAT(ops_of(parts.programs[1]),
              ElementsAre("receive", "fused_elementwise", "receive", "relu", "receive", "sqrt"));
}

TEST_F(Partitioning, ADeviceThatIsNotThereIsNamedWithItsScope) {
  Tensor a = exp(x);
  Tensor b{apply(functor::Sqrt::op, (Scope(graph) / "decoder" / "up1").on(2), {a})};
  EXPECT_THAT(error_of([&] { compile_for_two({b}); }),
              AllOf(StartsWith("device 2 is asked for by sqrt (at decoder/up1)"),
                    HasSubstr("a tower has 2 devices"),
                    HasSubstr("give each entry of RunConfig::devices 3 devices"),
                    HasSubstr("or call on() with a device below 2")));
  EXPECT_EQ(error_of([&] { compile_for_two({a}); }), "no error");  // nobody needs b
}

}  // namespace
}  // namespace belfry
