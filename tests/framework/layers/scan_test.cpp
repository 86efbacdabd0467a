#include "belfry/framework/layers/scan.h"

#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/recurrent.h"
#include "belfry/framework/ops/ops.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

using States = std::vector<Tensor>;

// Sums so far, of rows of two steps and of three.
std::pair<Tensor, States> adds(const Scope&, const Tensor& x, std::span<const Tensor> states) {
  Tensor sum = states[0] + x;
  return {sum * 10, {sum}};
}

TEST(Scan, TakesStatesFromStepToStep) {
  Graph graph;
  Scope s(graph);
  Tensor x = tensor(graph, {2, 3, 1}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}),
         first = tensor(graph, {2, 1}, {100.0, 200.0});
  ScanResult all = scan(s, adds, x, {first});
  EXPECT_THAT(values(all.y), ElementsAre(1010, 1030, 1060, 2040, 2090, 2150));
  EXPECT_EQ(all.y.shape(), Shape({2, 3, 1}));
  EXPECT_THAT(values(all.states.at(0)), ElementsAre(106, 215));
  ScanResult back = scan(s, adds, x, {first}, {.reverse = true});
  EXPECT_THAT(values(back.y), ElementsAre(1060, 1050, 1030, 2150, 2110, 2060));
  Tensor lengths = tensor<std::int64_t>(graph, {2}, {2, 0});
  ScanResult some = scan(s, adds, x, {first}, {.lengths = lengths});
  EXPECT_THAT(values(some.y), ElementsAre(1010, 1030, 0, 0, 0, 0));
  EXPECT_THAT(values(some.states.at(0)), ElementsAre(103, 200));
  ScanResult some_back = scan(s, adds, x, {first}, {.reverse = true, .lengths = lengths});
  EXPECT_THAT(values(some_back.y), ElementsAre(1030, 1020, 0, 0, 0, 0));
}

// The same weights at each step: simple_rnn() computes the same, and so do the gradients.
TEST(Scan, OfTheCellOfALayerIsTheLayer) {
  for (bool reverse : {false, true}) {
    Graph graph;
    Scope s(graph);
    Tensor x = constant(graph, wave({2, 4, 3}, 1)), h = constant(graph, wave({2, 2}, 2));
    Tensor lengths = tensor<std::int64_t>(graph, {2}, {4, 2});
    ScanCell cell = [](const Scope& at, const Tensor& in, std::span<const Tensor> states) {
      Tensor u = at.variable("recurrent_kernel", {.shape = {2, 2}, .dtype = DType::f64});
      Tensor next = tanh(dense(at, in, {.units = 2}) + matmul(states[0], u));
      return std::pair(next, States{next});
    };
    ScanResult ours = scan(s / "scan", cell, x, {h}, {.reverse = reverse, .lengths = lengths});
    Recurrence layer;
    {
      Scope at = s / "layer";
      Tensor u = at.variable("recurrent_kernel", {.shape = {2, 2}, .dtype = DType::f64});
      layer = recurrent(
          {.z = dense(at, x, {.units = 2}), .kernel = u, .initial = {.h = h}, .lengths = lengths},
          {.cell = RecurrentCell::tanh, .reverse = reverse});
    }
    std::map<std::string, Array> given;
    for (const char* path : {"scan/", "layer/"}) {
      given[std::string(path) + "kernel"] = wave({3, 2}, 3);
      given[std::string(path) + "bias"] = wave({2}, 4);
      given[std::string(path) + "recurrent_kernel"] = wave({2, 2}, 5);
    }
    auto near = [&](const Tensor& there) {
      return ::testing::Pointwise(::testing::DoubleNear(1e-12), values(there, given));
    };
    EXPECT_THAT(values(ours.y, given), near(layer.y)) << reverse;
    EXPECT_THAT(values(ours.states[0], given), near(layer.final.h)) << reverse;
    auto slopes = [&](const Tensor& y, const std::string& path) {
      std::vector<Tensor> at{x, h};
      std::map<std::string, Tensor> by_name;
      for (const Variable& v : trainable_variables(graph, path)) by_name.emplace(v.name(), v);
      for (const auto& [name, variable] : by_name) at.push_back(variable);
      std::vector<double> out;
      for (const Tensor& slope : gradients(sum(y * constant(graph, wave(y.shape(), 6))), at))
        for (double g : values(slope, given)) out.push_back(g);
      return out;
    };
    std::vector<double> expected = slopes(layer.y, "layer"), found = slopes(ours.y, "scan");
    ASSERT_EQ(expected.size(), found.size());
    EXPECT_THAT(found, ::testing::Pointwise(::testing::DoubleNear(1e-12), expected)) << reverse;
  }
}

TEST(Scan, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Scope s = Scope(graph) / "a";
  Tensor x = tensor(graph, {1, 2, 1}, {1.0, 2.0}), h = tensor(graph, {1, 1}, {1.0});
  auto error = [&](const ScanCell& cell, const ScanOptions& o = {}) {
    return error_of([&] { scan(s, cell, x, {h}, o); });
  };
  EXPECT_EQ(error([](const Scope&, const Tensor& in, auto) { return std::pair(in, States()); }),
            "scan: the cell takes 1 states and gives 0 (at a)");
  EXPECT_EQ(error([](const Scope&, const Tensor& in, auto) {
              return std::pair(in, States{concat({in, in}, 1)});
            }),
            "scan: state 0 is f64[1, 1] before a step and f64[1, 2] behind it (at a)");
  EXPECT_EQ(error(adds, {.lengths = tensor<std::int64_t>(graph, {2}, {1, 1})}),
            "scan: lengths must be i32 or i64 [1], got i64[2] (at a)");
  EXPECT_EQ(error(adds, {.lengths = tensor(graph, {1}, {1.0})}),
            "scan: lengths must be i32 or i64 [1], got f64[1] (at a)");
  EXPECT_THAT(error_of([&] {
                values(scan(s, adds, x, {h}, {.lengths = tensor<std::int64_t>(graph, {1}, {3})}).y);
              }),
              HasSubstr("scan: lengths"));
  EXPECT_EQ(error(nullptr), "scan: there is no cell (at a)");
  EXPECT_EQ(error_of([&] { scan(s, adds, x, {reshape(h, {})}); }),
            "scan: a state must be [1, ...], got f64[] (at a)");
  EXPECT_EQ(error([](const Scope&, const Tensor& in, std::span<const Tensor> states) {
              return std::pair(reshape(in, {}), States{states[0]});
            }),
            "scan: what a step gives must be [1, ...], got f64[] (at a)");
  EXPECT_EQ(error_of([&] { scan(s, adds, reshape(x, {2}), {h}); }),
            "scan: x must be [n, t, ...], t not 0, got f64[2] (at a)");
}

}  // namespace
}  // namespace belfry::testing
