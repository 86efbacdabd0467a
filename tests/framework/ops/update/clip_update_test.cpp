#include "belfry/framework/ops/update/clip_update.h"

#include <gmock/gmock.h>

#include <limits>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Throws;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct ClipUpdate : testing::Test {
  Variable variable(std::string_view name, DType dtype = DType::f64, const Shape& shape = {2}) {
    return scope.variable(name, {.shape = shape, .dtype = dtype});
  }
  void run(const Features& batch = {}) {
    if (!executable)
      executable = std::make_unique<Executable>(
          compile({}, graph.effects(), store.device(), {.verify = true}), store, 0);
    executable->run(batch, {});
  }
  // In a variable made before.
  void write(std::string_view name, const Array& value) {
    store.get_or_create(graph.find_variable(name)->as<VariableOptions>(), 0);
    store.write(name, value);
  }
  std::vector<double> values(std::string_view name) const {
    Array array = store.read(name);
    std::vector<double> out;
    for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
    return out;
  }
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  VariableStore store{find_device("cpu")};
  std::unique_ptr<Executable> executable;
};

TEST_F(ClipUpdate, TakesTheNearestNumberInside) {
  Variable a = variable("a", DType::f64, {7});
  clip_update({&a, 1}, {.limit = 0.25});
  write("a", Array::of({0.5, -0.5, 0.25, -0.125, infinity, -infinity, std::nan("")}));
  run();
  EXPECT_THAT(values("a"), ElementsAre(0.25, -0.25, 0.25, -0.125, 0.25, -0.25, IsNan()));
}

TEST_F(ClipUpdate, SeveralVariablesOfAllFloatingTypes) {
  std::vector<Variable> all;
  for (DType dtype : {DType::f32, DType::bf16, DType::f64, DType::f16})
    all.push_back(variable(concat("v_", dtype), dtype));
  all.push_back(variable("none", DType::f32, {0, 3}));
  clip_update(all, {.limit = 1.5});
  for (int i = 0; i < 4; ++i)
    write(all[i].name(), Array::of({7.0, -1.25}).cast(all[i].type().dtype));
  run();
  for (int i = 0; i < 4; ++i) EXPECT_THAT(values(all[i].name()), ElementsAre(1.5, -1.25));
}

TEST_F(ClipUpdate, SeesWhatEffectsBeforeItLeft) {
  Variable a = variable("a"), b = variable("b");
  assign(a, constant(graph, Array::of({4.0, 0.5})));
  clip_update({&a, 1}, {.limit = 1});
  assign(b, a.value() + 1.0);  // a as it was before the step
  run();
  EXPECT_THAT(values("a"), ElementsAre(1, 0.5));
  EXPECT_THAT(values("b"), ElementsAre(1, 1));
}

TEST_F(ClipUpdate, AFalseConditionChangesNothing) {
  Variable a = variable("a");
  clip_update({&a, 1}, {.limit = 1}, input(graph, "go", {{}, DType::boolean}));
  write("a", Array::of({4.0, -4.0}));
  run({{"go", Array::scalar(false)}});
  EXPECT_THAT(values("a"), ElementsAre(4, -4));
  run({{"go", Array::scalar(true)}});
  EXPECT_THAT(values("a"), ElementsAre(1, -1));
}

TEST_F(ClipUpdate, Errors) {
  Variable a = variable("a"), whole = variable("whole", DType::i64);
  using Variables = std::vector<Variable>;
  EXPECT_THAT([&] { clip_update({}); }, fails("clip_update: no variables to clip"));
  EXPECT_THAT([&] { clip_update(Variables{a, Variable()}); }, fails("a variable is undefined"));
  EXPECT_THAT([&] { clip_update(Variables{a, a}); }, fails("variable `a` is listed twice"));
  EXPECT_THAT(
      [&] {
        clip_update(Variables{a, whole});
      },
      fails("clip_update: variable 1 is i64[2]; only floating variables are clipped"));
  for (double limit : {0.0, -1.0, std::nan("")})
    EXPECT_THAT([&] { clip_update({&a, 1}, {.limit = limit}); }, fails("must be above 0"));
  EXPECT_THAT(
      [&] {
        clip_update({&a, 1}, {}, a);
      },
      fails("clip_update: the condition is f64[2]; expected bool[]"));
  EXPECT_THAT(
      [&] {
        clip_update({&a, 1}, {}, constant(graph, Array::of({true, false})));
      },
      fails("clip_update: the condition is bool[2]; expected bool[]"));
}

}  // namespace
}  // namespace belfry
