#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

// One variable fed anew in each step, with its average.
struct MovingAverageUpdate : testing::TestWithParam<bool> {  // fast kernels
  Variable variable(std::string_view name, DType dtype = DType::f64, const Shape& shape = {2}) {
    return scope.variable(name, {.shape = shape, .dtype = dtype});
  }
  AverageGroup group(const std::string& name, DType dtype = DType::f64) {
    return {variable(name, dtype), variable(name + "_average", dtype),
            variable(name + "_count", DType::i64, {})};
  }
  Executable make() {
    return Executable(
        compile({}, graph.effects(), store.device(), {.fast = GetParam(), .verify = true}), store,
        0);
  }
  std::vector<double> values(std::string_view name) const {
    Array array = store.read(name);
    return {array.at(0), array.at(1)};
  }
  double count(std::string_view name) const { return store.read(name).item(); }
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  VariableStore store{find_device("cpu")};
  std::vector<AverageGroup> groups{group("a")};
};

TEST_P(MovingAverageUpdate, HandComputed) {
  moving_average_update(groups, {.decay = 0.75});
  Executable run = make();
  store.write("a_average", Array::of({99.0, 99.0}));  // counts for nothing
  for (auto [x, expected] : {std::pair{8.0, 8.0}, {16.0, 10.0}, {2.0, 8.0}}) {
    store.write("a", Array::of({x, -x}));
    run.run({}, {});
    EXPECT_THAT(values("a_average"), ElementsAre(expected, -expected));
    EXPECT_THAT(values("a"), ElementsAre(x, -x));
  }
  EXPECT_EQ(count("a_count"), 3);
}

TEST_P(MovingAverageUpdate, WarmUpDecaysByItsOwnCount) {
  moving_average_update(groups, {.decay = 0.25, .warm_up = true});
  Executable run = make();
  store.write("a", Array::of({11.0, 44.0}));
  run.run({}, {.step = 1000});
  store.write("a", Array::of({22.0, 0.0}));
  run.run({}, {.step = 1001});  // decay 2 / 11
  EXPECT_THAT(values("a_average"), ElementsAre(20, testing::DoubleEq(8)));
  store.write("a_average", Array::of({4.0, 4.0}));
  store.write("a_count", Array::scalar(std::int64_t{3}));  // 4 / 13 is above 1 / 4
  store.write("a", Array::of({8.0, 0.0}));
  run.run({}, {});
  EXPECT_THAT(values("a_average"), ElementsAre(7, 1));
}

// An average that has its variable's value keeps it, whatever the decay.
TEST_P(MovingAverageUpdate, StandsStillWithItsVariable) {
  groups = {group("b", DType::f32)};
  moving_average_update(groups, {.decay = 0.9});
  Executable run = make();
  store.write("b", Array::of({0.1f, 1e-30f}));
  for (int i = 0; i < 5; ++i) run.run({}, {});
  EXPECT_TRUE(identical(store.read("b"), store.read("b_average")));
}

TEST_P(MovingAverageUpdate, SeesWhatEffectsBeforeItLeft) {
  assign(groups[0].variable, constant(graph, Array::of({4.0, 8.0})));
  moving_average_update(groups);
  assign(groups[0].variable, constant(graph, Array::of({5.0, 5.0})));
  make().run({}, {});
  EXPECT_THAT(values("a_average"), ElementsAre(4, 8));
  EXPECT_THAT(values("a"), ElementsAre(5, 5));
}

TEST_P(MovingAverageUpdate, ManyVariablesOfAllFloatingTypes) {
  groups = {group("s", DType::f32), group("h", DType::bf16), group("t", DType::f16), group("d")};
  moving_average_update(groups, {.decay = 0.5});
  Executable run = make();
  for (const char* name : {"s", "h", "t", "d"})
    store.write(name, Array::of({2.0, 4.0}).cast(store.options(name).type.dtype));
  run.run({}, {});
  for (const char* name : {"s", "h", "t", "d"})
    store.write(name, Array::of({4.0, 0.0}).cast(store.options(name).type.dtype));
  run.run({}, {});
  for (const char* name : {"s", "h", "t", "d"}) {
    EXPECT_THAT(values(std::string(name) + "_average"), ElementsAre(3, 2)) << name;
    EXPECT_EQ(count(std::string(name) + "_count"), 2) << name;
  }
}

// Large enough to be shared among threads, of odd sizes.
TEST_P(MovingAverageUpdate, LargeVariables) {
  const Shape shape{3, 20011};
  std::vector<AverageGroup> large{
      {variable("x", DType::f32, shape), variable("x_average", DType::f32, shape),
       variable("x_count", DType::i64, {})},
      group("y", DType::f32)};
  moving_average_update(large, {.decay = 0.75});
  Executable run = make();
  auto filled = [&](float factor) {
    Array out(shape, DType::f32);
    float next = 0;
    for (float& x : out.span<float>()) x = factor * next++;
    return out;
  };
  store.write("x", filled(4));
  run.run({}, {});
  store.write("x", filled(8));
  store.write("y", Array::of({4.0f, 8.0f}));
  run.run({}, {});
  EXPECT_TRUE(identical(store.read("x_average"), filled(5)));
  EXPECT_THAT(values("y_average"), ElementsAre(1, 2));
}

TEST_P(MovingAverageUpdate, AFalseConditionChangesNothing) {
  for (DType dtype : {DType::f64, DType::f32}) {
    Tensor condition = input(graph, concat("condition_", dtype), {{}, DType::boolean});
    std::vector<AverageGroup> own{group(concat("c_", dtype), dtype)};
    moving_average_update(own, {.decay = 0.5}, condition);
  }
  Executable run = make();
  auto step = [&](bool holds, double value) {
    for (const char* type : {"f64", "f32"})
      store.write(concat("c_", type),
                  Array::of({value, value}).cast(store.options(concat("c_", type)).type.dtype));
    run.run({{"condition_f64", Array::scalar(holds)}, {"condition_f32", Array::scalar(holds)}}, {});
  };
  for (auto [holds, value, expected, counted] : {std::tuple{false, 1.0, 0.0, 0},
                                                 {true, 2.0, 2.0, 1},
                                                 {false, 9.0, 2.0, 1},
                                                 {true, 4.0, 3.0, 2}}) {
    step(holds, value);
    for (const char* type : {"f64", "f32"}) {
      EXPECT_THAT(values(concat("c_", type, "_average")), ElementsAre(expected, expected)) << type;
      EXPECT_EQ(count(concat("c_", type, "_count")), counted) << type;
    }
  }
}

TEST_P(MovingAverageUpdate, Errors) {
  AverageGroup a = groups[0];
  Variable other = variable("other", DType::f32), n = variable("n", DType::i64),
           m = variable("m", DType::i64);
  using Groups = std::vector<AverageGroup>;
  EXPECT_THAT([&] { moving_average_update({}); },
              fails("moving_average_update: no variables to average"));
  EXPECT_THAT(
      [&] {
        moving_average_update(Groups{{a.variable, Variable(), a.count}});
      },
      fails("moving_average_update: a variable is undefined"));
  EXPECT_THAT(
      [&] {
        moving_average_update(Groups{a, a});
      },
      fails("moving_average_update: variable `a` is listed twice"));
  EXPECT_THAT(
      [&] {
        moving_average_update(Groups{{a.variable, other, a.count}});
      },
      fails("moving_average_update: variable 0 is f64[2] but its average is f32[2]"));
  EXPECT_THAT(
      [&] {
        moving_average_update(Groups{{a.variable, a.average, n}});
      },
      fails("moving_average_update: the count of variable 0 is i64[2]; expected i64[]"));
  EXPECT_THAT(
      [&] {
        moving_average_update(Groups{{n, m, a.count}});
      },
      fails("moving_average_update: variable 0 is i64[2]; only floating variables have "
            "averages"));
  EXPECT_THAT([&] { moving_average_update(groups, {}, other); },
              fails("moving_average_update: the condition is f32[2]; expected bool[]"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, MovingAverageUpdate, testing::Bool(),
                         [](const auto& info) { return info.param ? "fast" : "reference"; });

}  // namespace
}  // namespace belfry
