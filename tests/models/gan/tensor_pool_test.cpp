#include "belfry/models/gan/tensor_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../../framework/base/error_of.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/runtime/executable.h"
#include "gan_support.h"

namespace belfry::gan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows of two elements: a number that no other row has, and twice that.
Array rows_from(float first, std::int64_t n) {
  Array x(Shape{n, 2}, DType::f32);
  for (std::int64_t i = 0; i < n; ++i) {
    x.span<float>()[static_cast<std::size_t>(2 * i)] = first + static_cast<float>(i);
    x.span<float>()[static_cast<std::size_t>(2 * i + 1)] = 2 * (first + static_cast<float>(i));
  }
  return x;
}

// The numbers of the rows; each has both of its elements.
std::vector<double> rows_of(const Array& x) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    out.push_back(x.at(2 * i));
    EXPECT_EQ(x.at(2 * i + 1), 2 * x.at(2 * i));
  }
  return out;
}

// A pool that is run step by step on n rows.
struct Pool {
  Pool(std::int64_t n, TensorPoolOptions options) : rows(n) {
    Tensor x = input(graph, "x", {{n, 2}, DType::f32}),
           names = input(graph, "n", {{n}, DType::i64});
    std::vector<Tensor> out = tensor_pool(Scope(graph) / "pool", {x, names}, options);
    run = std::make_unique<Executable>(
        compile(out, graph.effects(), store.device(), {.verify = true}), store, 5);
  }
  // The rows that come back for new ones from `first` on. The second tensor goes with the first.
  std::vector<double> step(float first) {
    Array names(Shape{rows}, DType::i64);
    std::int64_t name = static_cast<std::int64_t>(first);
    for (auto& n : names.span<std::int64_t>()) n = name++;
    run->run({{"x", rows_from(first, rows)}, {"n", names}}, {.seed = 9, .step = steps++});
    std::vector<double> out = rows_of(run->output(0));
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(run->output(1).at(static_cast<std::int64_t>(i)), out[i]);
    return out;
  }
  std::vector<double> held() const {
    std::vector<double> out = rows_of(store.read("pool/rows0"));
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(store.read("pool/rows1").at(static_cast<std::int64_t>(i)), out[i]);
    return out;
  }
  double count() const { return store.read("pool/count").item(); }

  std::int64_t rows, steps = 0;
  Graph graph;
  VariableStore store{find_device("cpu")};
  std::unique_ptr<Executable> run;
};

TEST(TensorPool, ReturnsTheNewOnesUntilItIsFull) {
  Pool pool(3, {.size = 7, .probability = 1});
  EXPECT_THAT(pool.step(10), ElementsAre(10, 11, 12));
  EXPECT_THAT(pool.held(), ElementsAre(10, 11, 12, 0, 0, 0, 0));
  EXPECT_THAT(pool.step(20), ElementsAre(20, 21, 22));
  EXPECT_THAT(pool.step(30), ElementsAre(30, 31, 32));
  EXPECT_THAT(pool.held(), ElementsAre(10, 11, 12, 20, 21, 22, 30));
  EXPECT_EQ(pool.count(), 7);
}

// Every number occurs once, so what comes back tells which places were drawn.
TEST(TensorPool, ExchangesRowsForOlderOnes) {
  constexpr double probability = 0.25;
  constexpr std::size_t size = 5;
  Pool pool(4, {.size = size, .probability = probability});
  pool.step(1), pool.step(11);
  std::map<std::size_t, int> drawn;  // how often each place
  int rows = 0, exchanged = 0, collisions = 0;
  std::vector<double> before = pool.held();
  for (int step = 2; step < 1000; ++step) {
    float first = static_cast<float>(step * 10);
    std::vector<double> wanted = before;
    std::map<std::size_t, int> now;
    std::vector<double> got = pool.step(first);
    for (std::size_t i = 0; i < got.size(); ++i, ++rows) {
      double fresh = first + static_cast<double>(i);
      if (got[i] == fresh) continue;
      auto place = std::find(before.begin(), before.end(), got[i]);
      ASSERT_NE(place, before.end()) << got[i] << " is neither new nor in the pool";
      auto at = static_cast<std::size_t>(place - before.begin());
      wanted[at] = fresh;  // of several the last
      ++drawn[at], ++exchanged;
      if (++now[at] == 2) ++collisions;
    }
    before = pool.held();
    ASSERT_EQ(before, wanted) << "step " << step;
  }
  // Within four deviations of what is drawn evenly.
  double mean = rows * probability;
  EXPECT_NEAR(exchanged, mean, 4 * std::sqrt(mean * (1 - probability)));
  for (std::size_t at = 0; at < size; ++at)
    EXPECT_NEAR(drawn[at], exchanged / 5.0, 4 * std::sqrt(exchanged * 0.2 * 0.8)) << at;
  EXPECT_GT(collisions, 0);
}

TEST(TensorPool, AProbabilityOfZeroReturnsTheNewOnesAlone) {
  Pool pool(2, {.size = 1, .probability = 0});
  for (float first : {5.0f, 15.0f}) EXPECT_THAT(pool.step(first), ElementsAre(first, first + 1));
  EXPECT_THAT(pool.held(), ElementsAre(5));
}

// Two calls in a step: what the second returns of the first's rows is a constant.
TEST(TensorPool, GradientsFlowThroughACallsOwnRowsAlone) {
  Graph graph;
  Scope s(graph);
  Tensor first = input(graph, "first", {{2, 2}, DType::f32}),
         second = input(graph, "second", {{2, 2}, DType::f32});
  TensorPoolOptions options{.size = 2, .probability = 1};
  Tensor a = tensor_pool(s.shared() / "pool", first, options);
  Tensor b = tensor_pool(s.shared() / "pool", second, options);
  std::vector<Tensor> found = gradients(sum(square(b)), std::vector{first, second});
  EXPECT_FALSE(found[0].defined());
  // The pool is full, so that all rows of the second call are exchanged for those of the first.
  std::vector<Array> values =
      evaluate({a, b, found[1]}, {{"first", rows_from(1, 2)},
                                  {"second", rows_from(11, 2)},
                                  {"pool/count", Array::scalar(std::int64_t{0})},
                                  {"pool/rows0", Array::zeros({2, 2})}});
  EXPECT_THAT(rows_of(values[0]), ElementsAre(1, 2));
  for (double row : rows_of(values[1])) EXPECT_LT(row, 3);
  EXPECT_THAT(rows_of(values[2]), ElementsAre(0, 0));
}

TEST(TensorPool, RowsThatAreNotFiniteAreNotKept) {
  Pool pool(2, {.size = 4, .probability = 1});
  pool.step(1);
  Array bad = rows_from(11, 2);
  bad.span<float>()[3] = std::numeric_limits<float>::infinity();
  pool.run->run({{"x", bad}, {"n", Array::of<std::int64_t>({11, 12})}}, {.seed = 9, .step = 1});
  EXPECT_THAT(pool.held(), ElementsAre(1, 2, 0, 0));
  EXPECT_EQ(pool.count(), 2);
  pool.step(21);
  EXPECT_THAT(pool.held(), ElementsAre(1, 2, 21, 22));
}

// ---- as part of a model

// w is trained on what comes out of the pool.
EstimatorSpec pooling(Scope s, const Batch& batch, Mode) {
  Tensor x = tensor_pool(s / "pool", batch["x"], {.size = 5, .probability = 0.75});
  Tensor w = s.variable("w", {.shape = {2}, .initializer = ones()});
  return {.loss = mean(square(x * w)), .train = adam({.learning_rate = 0.1})};
}

TEST(TensorPool, AllTowersHaveThePoolOfOne) {
  for (std::int64_t rows : {7, 2}) {  // of 2 rows, the third of 3 towers has none
    expect_towers_are_one(pooling, batches_of(rows), 12);
    auto one = variables_after(pooling, batches_of(rows), 12);
    auto three = variables_after(pooling, batches_of(rows), 12, on_towers(3));
    for (const char* name : {"pool/rows0", "pool/count"})
      EXPECT_TRUE(identical(one.at(name), three.at(name))) << name;
  }
}

TEST(TensorPool, ResumesToTheBit) {
  for (int towers : {1, 3}) expect_resumes_to_the_bit(pooling, batches_of(4), 4, on_towers(towers));
}

struct AsksForMicroBatches final : Hook {
  int micro_batches() const override { return 2; }
};

TEST(TensorPool, MicroBatchesFollowEachOther) {
  ModelFn model = [](Scope s, const Batch& batch, Mode) {
    Tensor x = tensor_pool(s / "pool", batch["x"], {.size = 8});
    return EstimatorSpec{.loss = mean(dense(s, x, {.units = 1})), .train = sgd()};
  };
  auto parts = [&](int towers) {
    return variables_after(model, batches_of(4), 2, on_towers(towers),
                           {std::make_shared<AsksForMicroBatches>()});
  };
  auto whole = variables_after(model, batches_of(4), 2);
  EXPECT_TRUE(identical(whole.at("pool/rows0"), parts(1).at("pool/rows0")));
  EXPECT_EQ(parts(2).at("pool/count").item(), 8);
  // The first parts of two towers are rows 0 and 2.
  EXPECT_TRUE(identical(parts(2).at("pool/rows0").rows(1, 1), whole.at("pool/rows0").rows(2, 1)));
}

GanOptions with_pool() {
  return {.generator = generate,
          .discriminator = criticise,
          .real = "x",
          .loss = with_tensor_pool(modified(), {.size = 10}),
          .round = sequential({.generator = 3, .discriminator = 2})};
}

TEST(WithTensorPool, TheDiscriminatorsSubStepsFillIt) {
  auto found = variables_after(gan(with_pool()), batches_of(3), 1);
  EXPECT_EQ(found.at("discriminator/tensor_pool/count").item(), 2 * 3);
  EXPECT_EQ(found.at("discriminator/tensor_pool/rows0").shape(), (Shape{10, 2}));
  EXPECT_NE(found.at("discriminator/tensor_pool/rows0").at(10), 0);
  EXPECT_EQ(found.at("discriminator/tensor_pool/rows0").at(12), 0);
}

// A pool that exchanges nothing changes nothing.
TEST(WithTensorPool, TrainsOnWhatThePoolReturns) {
  auto trained = [](const Loss& loss) {
    GanOptions o = with_pool();
    o.discriminator = [](Scope s, Tensor x, const Batch&, Mode) {  // draws nothing
      return dense(s / "logit", relu(dense(s / "hidden", x, {.units = 8})), {.units = 1});
    };
    o.loss = loss;
    return variables_after(gan(o), batches_of(3), 6);
  };
  auto a = trained(modified());
  auto b = trained(with_tensor_pool(modified(), {.size = 3, .probability = 0}));
  auto c = trained(with_tensor_pool(modified(), {.size = 3, .probability = 1}));
  for (const auto& [name, value] : a)
    for (std::int64_t i = 0; i < value.elements(); ++i)
      EXPECT_NEAR(value.at(i), b.at(name).at(i), 1e-6) << name;
  EXPECT_FALSE(identical(a.at("discriminator/hidden/kernel"), c.at("discriminator/hidden/kernel")));
}

TEST(WithTensorPool, EvaluationTakesNothingFromIt) {
  TemporaryFolder folder;
  GanEstimator estimator({with_pool(), folder.path(), models::quiet()});
  estimator.train(batches_of(3), {.steps = 4});
  Array before = estimator.variable_value("discriminator/tensor_pool/rows0").clone();
  estimator.evaluate(batches_of(3), {.steps = 2});
  EXPECT_TRUE(identical(before, estimator.variable_value("discriminator/tensor_pool/rows0")));
}

TEST(TensorPool, Errors) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", {{3, 2}, DType::f32}), y = input(graph, "y", {{2, 2}, DType::f32});
  EXPECT_THAT(error_of([&] { tensor_pool(s, x, {.size = 0}); }),
              HasSubstr("tensor_pool: the size must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] { tensor_pool(s, x, {.probability = 1.5}); }),
              HasSubstr("the probability must be in [0, 1], got 1.5"));
  EXPECT_THAT(error_of([&] {
                tensor_pool(s / "p", {x, y});
              }),
              HasSubstr("tensor_pool: f32[2, 2] beside f32[3, 2]; expected as many rows (at p)"));
  EXPECT_THAT(error_of([&] { tensor_pool(s, std::vector<Tensor>{}); }), HasSubstr("no tensors"));
  EXPECT_THAT(error_of([&] {
                with_tensor_pool({modified().generator, {}});
              }),
              HasSubstr("with_tensor_pool: the loss is not set"));
  EXPECT_THAT(error_of([&] { with_tensor_pool(modified(), {.size = -1}); }),
              HasSubstr("at least 1, got -1"));
}

}  // namespace
}  // namespace belfry::gan
