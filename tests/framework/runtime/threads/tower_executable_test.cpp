#include "belfry/framework/runtime/tower_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A tower of cpu:0 and cpu:1 whose devices run on a thread each.
class TwoDevices : public ::testing::Test {
 protected:
  TowerExecutable make(const std::vector<Tensor>& outputs) {
    auto plan = compile_tower(outputs, graph.effects(),
                              std::vector<Device*>{devices[0].get(), devices[1].get()},
                              {.verify = true, .threads = 1});
    return TowerExecutable(plan, std::vector<VariableStore*>{&stores[0], &stores[1]}, 7);
  }

  // The error that each device threw, or "no error".
  std::vector<std::string> step(TowerExecutable& tower, const Features& batch,
                                const StepState& state = {}) {
    std::vector<std::string> errors(2, "no error");
    auto run_device = [&](int s) {
      try {
        tower.compute(s, batch, state);
        tower.apply(s);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(s)] = error.what();
        tower.abort(error.what());
      }
    };
    tower.begin_step();
    std::thread second([&] { run_device(1); });
    run_device(0);
    second.join();
    return errors;
  }

  Graph graph;
  std::vector<std::shared_ptr<Device>> devices{find_device("cpu:0"), find_device("cpu:1")};
  std::vector<VariableStore> stores = [this] {
    std::vector<VariableStore> out;
    for (const auto& device : devices) out.emplace_back(device);
    return out;
  }();
  Scope here{graph}, there = Scope(graph).on(1);
  Tensor x = input(graph, "x", {{2}, DType::f32});
};

const std::vector<std::string> fine(2, "no error");

Features batch(float a, float b) { return {{"x", Array::of({a, b})}}; }

TEST_F(TwoDevices, ValuesGoForthAndBack) {
  Tensor a{apply(functor::Exp::op, here, {x})};
  Tensor b{apply(functor::Neg::op, there, {a})};
  Tensor c{apply(functor::Sub::op, here, {a, b})};
  TowerExecutable tower = make({b, c, a});
  for (float f : {0.0f, 1.0f, 2.0f}) {
    ASSERT_EQ(step(tower, batch(f, 0)), fine);
    EXPECT_FLOAT_EQ(static_cast<float>(tower.output(0).at(0)), -std::exp(f));
    EXPECT_FLOAT_EQ(static_cast<float>(tower.output(1).at(0)), 2 * std::exp(f));
    EXPECT_FLOAT_EQ(static_cast<float>(tower.output(2).at(1)), 1);
  }
  EXPECT_EQ(tower.output_count(), 3u);
  EXPECT_GE(tower.times().transfer, 0);
}

// Each device overwrites its variable with that of the other, step after step: both read what was
// there before the step.
TEST_F(TwoDevices, VariablesThatSwapAreReadBeforeTheyAreWritten) {
  Variable v = here.variable("v", {.initializer = constant_value(3)});
  Variable w = there.variable("w", {.initializer = constant_value(5)});
  assign(v, w);
  assign(w, v);
  TowerExecutable tower = make({v, w});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(step(tower, {}), fine);
    ASSERT_EQ(tower.output(0).item(), i % 2 ? 5 : 3) << i;
    ASSERT_EQ(tower.output(1).item(), i % 2 ? 3 : 5) << i;
  }
  EXPECT_EQ(stores[0].names(), std::vector<std::string>{"v"});
  EXPECT_EQ(stores[1].names(), std::vector<std::string>{"w"});
  EXPECT_EQ(stores[0].read("v").item(), 3);
}

// Each device is ahead of the other at times.
TEST_F(TwoDevices, ManyTransfersKeepTheirOrder) {
  Tensor t = x;
  for (int i = 0; i < 200; ++i)
    t = Tensor(apply(functor::Add::op, i % 2 ? there : here, {t, i % 3 ? t : x}));
  TowerExecutable tower = make({t});
  // All of the hundred that arrive take each other's place.
  for (const auto& plan : tower.plan().plans) EXPECT_LE(plan->arena_bytes, 3 * 64);
  Array wanted;
  {
    auto plan = compile(std::vector{t}, {}, *devices[0], {.threads = 1});
    VariableStore store(devices[0]);
    Executable alone(plan, store, 7);
    alone.run(batch(1e-30f, 2e-30f), {});
    wanted = alone.output(0).clone();
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(step(tower, batch(1e-30f, 2e-30f)), fine);
    ASSERT_TRUE(identical(tower.output(0), wanted)) << i;
  }
}

TEST_F(TwoDevices, ADeviceThatThrowsEndsTheOtherToo) {
  Tensor table{apply(functor::Exp::op, there, {x})};
  Tensor row = input(graph, "row", {{1}, DType::i64});
  Tensor picked{apply(gather_op, there, {table, row}, AxisOptions{.axis = 0})};
  Tensor last{apply(functor::Exp::op, here, {picked})};
  TowerExecutable tower = make({last});
  auto with_row = [&](std::int64_t r) {
    Features out = batch(0, 0);
    out.set("row", Array::of<std::int64_t>({r}));
    return out;
  };
  for (int i = 0; i < 10; ++i) {
    auto errors = step(tower, with_row(7));
    EXPECT_THAT(errors[1], AllOf(HasSubstr("gather"), HasSubstr("7")));
    EXPECT_THAT(errors[0],
                AllOf(HasSubstr("of another device: "), HasSubstr(errors[1].substr(0, 20))));
    EXPECT_EQ(step(tower, with_row(1)), fine);
    EXPECT_FLOAT_EQ(static_cast<float>(tower.output(0).item()), std::exp(1.0f));
  }
}

TEST_F(TwoDevices, WhatArrivesIsInTheArenaOfTheReceiver) {
  Tensor big = input(graph, "big", {{1000}, DType::f32});
  Tensor a{apply(functor::Exp::op, (here / "encoder"), {big})};
  Tensor b{apply(functor::Neg::op, there, {a})};
  Bytes before = devices[1]->memory_in_use();
  {
    TowerExecutable tower = make({b});
    const Plan& plan = *tower.plan().plans[1];
    ASSERT_EQ(plan.blocks.size(), 1u);  // neg computes in place
    EXPECT_EQ(plan.blocks[0].use, MemoryUse::received);
    EXPECT_EQ(plan.blocks[0].bytes, 4000);
    EXPECT_EQ(devices[1]->memory_in_use().count - before.count, plan.bytes());
  }
  EXPECT_EQ(devices[1]->memory_in_use(), before);
  Bytes limit = devices[1]->memory_limit();
  devices[1]->set_memory_limit(Bytes(before.count + 1000));
  try {
    make({b});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the step's arena: over the memory limit on cpu:1"));
  }
  devices[1]->set_memory_limit(limit);
}

TEST_F(TwoDevices, OneDeviceAloneIsItsExecutable) {
  auto plan = compile_tower(std::vector{exp(x)}, {}, std::vector<Device*>{devices[0].get()});
  TowerExecutable tower(plan, std::vector<VariableStore*>{&stores[0]}, 7);
  tower.run(batch(0, 0), {});
  EXPECT_EQ(tower.output(0).at(1), 1);
  EXPECT_EQ(tower.device_count(), 1);
}

}  // namespace
}  // namespace belfry
