#include "belfry/framework/runtime/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../base/error_of.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

class Running : public ::testing::Test {
 protected:
  Executable make(const std::vector<Tensor>& outputs, bool fast = true) {
    return Executable(compile(outputs, graph.effects(), store.device(), {.fast = fast}), store, 7);
  }
  Graph graph;
  VariableStore store{find_device("cpu")};
  Tensor x = input(graph, "x", {{2}, DType::f32});
};

Features batch(float a, float b) {
  return {{"ignored", Array::scalar(1.0)}, {"x", Array::of({a, b})}};
}

TEST_F(Running, ATracedStepHasATimeForEachInstruction) {
  Executable run = make({sum(matmul(reshape(x, {1, 2}), reshape(x, {2, 1}))), softmax(x)}, false);
  std::vector<TraceEntry> trace;
  EXPECT_THAT(error_of([&] { run.append_trace(0, 0, trace); }), HasSubstr("was not traced"));
  double before = steady_seconds();
  run.run(batch(1, 2), {.trace = true});
  double after = steady_seconds();
  EXPECT_EQ(run.output(0).item(), 5);
  run.append_trace(3, 1, trace);
  ASSERT_EQ(trace.size(), run.plan().instructions.size());
  double until = before;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    EXPECT_EQ(trace[i].op, run.plan().instructions[i].node->op().name);
    EXPECT_EQ(trace[i].tower, 3);
    EXPECT_EQ(trace[i].device, 1);
    EXPECT_GE(trace[i].start_seconds, until);
    EXPECT_GE(trace[i].seconds, 0);
    until = trace[i].start_seconds;
  }
  EXPECT_LE(until + trace.back().seconds, after);
  run.run(batch(1, 2), {});
  EXPECT_THAT(error_of([&] { run.append_trace(0, 0, trace); }), HasSubstr("was not traced"));
}

TEST_F(Running, FeedsRunsAndFetches) {
  Executable run = make({x * 2.0, sum(x), x});
  EXPECT_EQ(run.output_count(), 3u);
  for (float f : {1.0f, 5.0f}) {
    run.run(batch(f, 3), {});
    EXPECT_EQ(run.output(0).at(0), 2 * f);
    EXPECT_EQ(run.output(1).item(), f + 3);
    EXPECT_EQ(run.output(2).at(1), 3);
  }
}

TEST_F(Running, VariablesAreSharedAndLiveOn) {
  Variable w = Scope(graph).variable("w", {.shape = {2}, .initializer = ones()});
  assign(w, w + x);
  {
    Executable run = make({w});
    run.run(batch(1, 2), {});
    run.run(batch(1, 2), {});
    EXPECT_EQ(run.output(0).at(1), 3);
  }
  EXPECT_EQ(store.read("w").at(0), 3);
  store.write("w", Array::of({10.f, 20.f}));
  Executable again = make({w * 2.0});
  again.run(batch(0, 0), {});
  EXPECT_EQ(again.output(0).at(1), 40);
}

TEST_F(Running, StepAndSeedAreFed) {
  Scope s(graph);
  Executable run = make({global_step(graph), random_uniform(s / "noise", {4})});
  run.run({}, {.seed = 1, .step = 41});
  EXPECT_EQ(run.output(0).item(), 41);
  Array first = run.output(1).clone();
  run.run({}, {.seed = 1, .step = 42});
  EXPECT_FALSE(identical(run.output(1), first));
  run.run({}, {.seed = 2, .step = 41});
  EXPECT_FALSE(identical(run.output(1), first));
  run.run({}, {.seed = 1, .step = 41});
  EXPECT_TRUE(identical(run.output(1), first));
}

TEST_F(Running, ABatchMustFitThePlan) {
  Executable run = make({x * 2.0});
  EXPECT_EQ(error_of([&] {
              run.run({{"x", Array::of({1.f, 2.f, 3.f})}}, {});
            }),
            "feature `x` is f32[3] but the plan was compiled for f32[2]");
  EXPECT_EQ(error_of([&] {
              run.run({{"y", Array::scalar(1.f)}}, {});
            }),
            "unknown feature `x`; this batch has y");
}

TEST_F(Running, AKernelsErrorNamesItsScopeAndChangesNothing) {
  Variable table = (Scope(graph) / "words").variable("table", {.shape = {3, 1}});
  Tensor id = input(graph, "id", {{1}, DType::i64});
  Variable w = Scope(graph).variable("w", {.shape = {1, 1}});
  assign(w, embedding_lookup(table, id) + 1.0);
  Executable run = make({});
  EXPECT_THAT(error_of([&] {
                run.run({{"id", Array::of<std::int64_t>({3})}}, {});
              }),
              ::testing::AllOf(HasSubstr("3"), HasSubstr("(at words)")));
  EXPECT_EQ(store.read("w").item(), 0);
  run.run({{"id", Array::of<std::int64_t>({2})}}, {});
  EXPECT_EQ(store.read("w").item(), 1);
}

TEST_F(Running, CheckNumericsNamesTheFirstOp) {
  for (bool fast : {false, true}) {
    Tensor bad = sum(log(x), {.axes = {0}});
    Executable run = make({sqrt(bad)}, fast);
    run.run(batch(1, 0), {});  // not asked
    run.check_numerics(true);
    EXPECT_THAT(error_of([&] { run.run(batch(1, 0), {}); }),
                HasSubstr("log: element 1 of output 0 (f32[2]) is -inf"));
    run.run(batch(1, 2), {});
  }
}

// The second plan needs the larger arena; each gives its own result after the other has run.
TEST_F(Running, PlansOfAStoreComputeInTheSameMemory) {
  Tensor big = input(graph, "big", {{1000}, DType::f32});
  Features large{{"big", Array::zeros({1000})}};
  Executable small = make({exp(x) + 1.0});
  small.run(batch(0, 0), {});
  Bytes before = store.device().memory_in_use();
  {
    Executable other = make({sum(exp(big) * tanh(big + 1.0))});
    std::int64_t constants = small.plan().constant_bytes() + other.plan().constant_bytes();
    EXPECT_EQ(store.device().memory_in_use().count, other.plan().scratch_bytes() + constants);
    for (int i = 0; i < 3; ++i) {
      other.run(large, {});
      small.run(batch(0, 1), {});
      EXPECT_NEAR(other.output(0).item(), 1000 * std::tanh(1.0), 0.001);
      EXPECT_EQ(small.output(0).at(0), 2);
      EXPECT_FLOAT_EQ(static_cast<float>(small.output(0).at(1)), 1 + std::exp(1.0f));
    }
    Bytes limit = store.device().memory_limit();
    store.device().set_memory_limit(store.device().memory_in_use());
    EXPECT_THAT(error_of([&] {
                  make({matmul(reshape(big, {1000, 1}), reshape(big, {1, 1000}))});
                }),
                HasSubstr("over the memory limit"));
    small.run(batch(0, 0), {});
    EXPECT_EQ(small.output(0).at(1), 2);
    store.device().set_memory_limit(limit);
  }
  EXPECT_GT(store.device().memory_in_use(), before);  // it stays as large while it is in use
}

TEST_F(Running, MemoryIsGivenBack) {
  Bytes before = store.device().memory_in_use();
  {
    Executable run = make({exp(x) + 1.0});
    EXPECT_GT(store.device().memory_in_use(), before);
  }
  EXPECT_EQ(store.device().memory_in_use(), before);
}

}  // namespace
}  // namespace belfry
