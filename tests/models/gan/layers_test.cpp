// Covers spectral.cpp, virtual_batch_norm.cpp and conditioning.cpp. Wanted values are worked out in
// double by loops over the definitions.
#include <cmath>
#include <numeric>

#include "../../framework/layers/layers_support.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/models/gan/conditioning.h"
#include "belfry/models/gan/spectral.h"
#include "belfry/models/gan/virtual_batch_norm.h"

namespace belfry::gan {
namespace {

using namespace ::belfry::testing;

using Numbers = std::vector<double>;

// ---- spectral normalisation

// W [rows, columns], row-major.
struct Matrix {
  Numbers w;
  std::size_t rows, columns;

  Numbers times(const Numbers& u) const {
    Numbers v(rows, 0);
    for (std::size_t i = 0; i < w.size(); ++i) v[i / columns] += w[i] * u[i % columns];
    return v;
  }
  Numbers transposed_times(const Numbers& v) const {
    Numbers u(columns, 0);
    for (std::size_t i = 0; i < w.size(); ++i) u[i % columns] += w[i] * v[i / columns];
    return u;
  }
};

double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
Numbers unit(Numbers x) {
  double length = std::sqrt(dot(x, x));
  for (double& value : x) value /= length;
  return x;
}

// One-sided Jacobi: turns pairs of columns until all are orthogonal; their lengths are the singular
// values.
double largest_singular_value(Matrix m) {
  auto column = [&](std::size_t c) {
    Numbers out;
    for (std::size_t r = 0; r < m.rows; ++r) out.push_back(m.w[r * m.columns + c]);
    return out;
  };
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p + 1 < m.columns; ++p)
      for (std::size_t q = p + 1; q < m.columns; ++q) {
        Numbers a = column(p), b = column(q);
        double angle = 0.5 * std::atan2(2 * dot(a, b), dot(a, a) - dot(b, b));
        for (std::size_t r = 0; r < m.rows; ++r) {
          m.w[r * m.columns + p] = std::cos(angle) * a[r] + std::sin(angle) * b[r];
          m.w[r * m.columns + q] = std::cos(angle) * b[r] - std::sin(angle) * a[r];
        }
      }
  double most = 0;
  for (std::size_t c = 0; c < m.columns; ++c)
    most = std::max(most, std::sqrt(dot(column(c), column(c))));
  return most;
}

struct SpectralNorm : ::testing::Test {
  static constexpr std::size_t rows = 3 * 2 * 4, columns = 5;
  Array kernel = noise({3, 2, 4, columns}, 7);
  Matrix matrix{numbers(kernel), rows, columns};
  Graph graph;
  Scope scope{graph};
  VariableStore store{find_device("cpu")};

  Tensor normalized(SpectralNormOptions o, bool shared = false) {
    return spectral_norm(shared ? scope.shared() : scope, input(graph, "w", kernel.type()), o);
  }
};

TEST_F(SpectralNorm, FollowsThePowerMethodToTheLargestSingularValue) {
  Tensor y = normalized({.training = true});
  Executable run(compile(std::vector{y}, graph.effects(), store.device(), {.verify = true}), store,
                 3);
  Numbers u = numbers(store.read("u"));
  EXPECT_EQ(u.size(), columns);
  for (int step = 0; step < 300; ++step) {
    Numbers v = unit(matrix.times(u));
    u = unit(matrix.transposed_times(v));
    double sigma = dot(v, matrix.times(u));
    run.run({{"w", kernel}}, {});
    if (step > 3 && step < 299) continue;
    EXPECT_EQ(run.output(0).shape(), kernel.shape());
    for (std::int64_t i = 0; i < kernel.elements(); ++i)
      EXPECT_NEAR(run.output(0).at(i), kernel.at(i) / sigma, 2e-6) << "step " << step;
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_NEAR(store.read("u").at(i), u[i], 2e-6);
  }
  EXPECT_NEAR(kernel.at(0) / run.output(0).at(0), largest_singular_value(matrix), 1e-5);
}

TEST_F(SpectralNorm, SeveralIterationsAStepAreAsManySteps) {
  Tensor y = normalized({.training = true, .iterations = 4});
  Executable run(compile(std::vector{y}, graph.effects(), store.device(), {.verify = true}), store,
                 3);
  Numbers u = numbers(store.read("u"));
  for (int i = 0; i < 4; ++i) u = unit(matrix.transposed_times(unit(matrix.times(u))));
  run.run({{"w", kernel}}, {});
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_NEAR(store.read("u").at(i), u[i], 1e-6);
}

// d/dW sum(C W / sigma) = C / sigma - sum(C W) / sigma^2 v u^T.
TEST_F(SpectralNorm, TheGradientHoldsUAndVConstant) {
  Array c = noise(kernel.shape(), 8);
  Tensor y = normalized({.training = true}), w = y.node().input(0);
  Tensor dw = gradients(sum(y * constant(graph, c)), std::vector{w})[0];
  Numbers u{0.5, -1, 2, 0.25, 1};
  Numbers got = values(dw, {{"w", kernel}, {"u", Array::of({0.5f, -1.0f, 2.0f, 0.25f, 1.0f})}});
  Numbers v = unit(matrix.times(u));
  u = unit(matrix.transposed_times(v));
  double sigma = dot(v, matrix.times(u)), product = dot(numbers(c), matrix.w);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i],
                c.at(static_cast<std::int64_t>(i)) / sigma
                    - product / (sigma * sigma) * v[i / columns] * u[i % columns],
                1e-5);
}

TEST_F(SpectralNorm, OnlyTrainingKeepsUAndOnceAStep) {
  normalized({.training = false});
  EXPECT_TRUE(graph.effects().empty());
  EXPECT_EQ(graph.find_variable("u")->as<VariableOptions>().kind, VariableKind::statistic);
  spectral_norm(scope.shared(), Tensor(*graph.find_input("w")), {.training = true});
  spectral_norm(scope.shared(), Tensor(*graph.find_input("w")), {.training = true});
  EXPECT_EQ(graph.effects().size(), 1u);
}

// Nothing is found of it, so that u is ready for what it becomes.
TEST_F(SpectralNorm, AKernelOfZerosStaysAndKeepsU) {
  Tensor y = normalized({.training = true, .epsilon = 1e-4});
  Executable run(compile(std::vector{y}, graph.effects(), store.device(), {.verify = true}), store,
                 3);
  Array u = store.read("u").clone();
  run.run({{"w", Array::zeros(kernel.shape())}}, {});
  for (double value : numbers(run.output(0))) EXPECT_EQ(value, 0);
  EXPECT_TRUE(identical(store.read("u"), u));
  Tensor w(*graph.find_input("w"));
  for (double slope : values(gradients(sum(y), std::vector{w})[0],
                             {{"w", Array::zeros(kernel.shape())}, {"u", u}}))
    EXPECT_NEAR(slope, 100, 1e-3);  // 1 over the root of epsilon
}

// In 16 bits the squares of such a kernel would overflow, or lose digits.
// Squares of such numbers overflow f32. The normalised kernel does not depend on the unit.
TEST_F(SpectralNorm, LargeKernelsAreMeasuredToo) {
  Tensor y = normalized({.training = false});
  Executable run(compile(std::vector{y}, {}, store.device(), {.verify = true}), store, 3);
  run.run({{"w", kernel}}, {});
  Numbers expected = numbers(run.output(0));
  Array large = kernel.cast(DType::f32);
  for (float& x : large.span<float>()) x *= 0x1p80f;
  run.run({{"w", large}}, {});
  for (std::int64_t i = 0; i < kernel.elements(); ++i)
    EXPECT_NEAR(run.output(0).at(i), expected[static_cast<std::size_t>(i)], 1e-6);
}

TEST_F(SpectralNorm, KernelsOf16BitsAreMeasuredIn32) {
  Array narrow = noise({6, columns}, 7).cast(DType::f16);
  Tensor y = spectral_norm(scope, constant(graph, narrow) * 1000, {.training = true});
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_EQ(graph.find_variable("u")->output().dtype, DType::f32);
  Array u = Array::of({1.0f, 0.0f, 0.0f, 0.0f, 0.0f});
  Numbers got = values(y, {{"u", u}});
  Array wide = narrow.cast(DType::f32);
  Matrix m{numbers(wide), 6, columns};
  Numbers v = unit(m.times({1, 0, 0, 0, 0}));
  double sigma = dot(v, m.times(unit(m.transposed_times(v))));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], m.w[i] / sigma, 2e-3);
}

TEST_F(SpectralNorm, LayersDivideTheirKernels) {
  Array x = noise({2, 6, 5, 4}, 9);
  Conv2dLayerOptions conv{.filters = 5, .kernel = {3, 2}, .stride = 2};
  Tensor in = constant(graph, x);
  Tensor y = spectral_conv2d(scope / "c", in, conv, {.training = true});
  spectral_dense(scope / "d", flatten(in), {.units = 3}, {.training = false});
  Tensor plain = conv2d(scope / "plain", in, conv);
  EXPECT_EQ(graph.find_variable("c/kernel")->output().shape, kernel.shape());
  EXPECT_EQ(graph.find_variable("d/kernel")->output().shape, (Shape{120, 3}));
  EXPECT_EQ(graph.find_variable("d/u")->output().shape, Shape{3});
  EXPECT_EQ(trainable_variables(graph, "c").size(), 2u);
  Array u = Array::of({1.0f, 0.0f, 0.0f, 0.0f, 0.0f}), none = Array::zeros({5}, DType::f32);
  Numbers v = unit(matrix.times({1, 0, 0, 0, 0}));
  Numbers next = unit(matrix.transposed_times(v));
  double sigma = dot(v, matrix.times(next));
  Numbers got = values(y, {{"c/kernel", kernel}, {"c/u", u}, {"c/bias", none}});
  Numbers wanted = values(plain, {{"plain/kernel", kernel}, {"plain/bias", none}});
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i] / sigma, 1e-5);
  // A kernel of one column has its length as singular value.
  Array column = noise({120, 1}, 4);
  Tensor one =
      spectral_dense(scope / "e", flatten(in), {.units = 1, .use_bias = false}, {.training = true});
  Numbers length = numbers(column);
  got = values(one, {{"e/kernel", column}, {"e/u", Array::of({-0.5f})}});
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 120; ++i)
      sum += x.at(static_cast<std::int64_t>(row * 120 + i)) * length[i];
    EXPECT_NEAR(got[row], sum / std::sqrt(dot(length, length)), 1e-5);
  }
}

TEST_F(SpectralNorm, Errors) {
  Tensor w = input(graph, "w", {{3, 2}, DType::f32}), flat = input(graph, "f", {{3}, DType::f32});
  EXPECT_THAT(error_of([&] { spectral_norm(scope / "s", flat, {.training = true}); }),
              HasSubstr("at least 2 axes, got f32[3] (at s)"));
  EXPECT_THAT(error_of([&] { spectral_norm(scope, w, {.training = true, .iterations = 0}); }),
              HasSubstr("iterations must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] { spectral_norm(scope, w, {.training = true, .epsilon = 0}); }),
              HasSubstr("epsilon must be above 0"));
}

// ---- virtual batch normalisation

// The normalised x [n, pixels, c], by the definition: with means and squares of the reference, then
// of the reference and a row.
Numbers normalized_by_hand(const Numbers& x, std::size_t n, std::size_t pixels, std::size_t c,
                           std::size_t r, const Numbers& scale, const Numbers& offset) {
  auto at = [&](std::size_t row, std::size_t p, std::size_t k) {
    return x[(row * pixels + p) * c + k];
  };
  auto moment = [&](std::size_t from, std::size_t to, std::size_t k, int power) {
    double sum = 0;
    for (std::size_t row = from; row < to; ++row)
      for (std::size_t p = 0; p < pixels; ++p) sum += std::pow(at(row, p, k), power);
    return sum / static_cast<double>((to - from) * pixels);
  };
  Numbers y;
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t k = 0; k < c; ++k) {
        double mean = moment(0, r, k, 1), squares = moment(0, r, k, 2);
        if (row >= r) {
          double w = 1.0 / (static_cast<double>(r) + 1);
          mean = w * moment(row, row + 1, k, 1) + (1 - w) * mean;
          squares = w * moment(row, row + 1, k, 2) + (1 - w) * squares;
        }
        double normalized = (at(row, p, k) - mean) / std::sqrt(squares - mean * mean + 1e-3);
        y.push_back(normalized * scale[k] + offset[k]);
      }
  return y;
}

TEST(VirtualBatchNorm, JoinsTheReferenceWithEachRow) {
  for (const Shape& shape : {Shape{5, 2, 3, 4}, Shape{5, 4}}) {
    Graph graph;
    Array x = noise(shape, 5);
    Tensor y = virtual_batch_norm(Scope(graph), constant(graph, x), {.reference_rows = 3});
    Numbers scale{1, -2, 0.5, 3}, offset{0, 1, 2, -1};
    Numbers got = values(y, {{"scale", Array::of({1.0f, -2.0f, 0.5f, 3.0f})},
                             {"offset", Array::of({0.0f, 1.0f, 2.0f, -1.0f})}});
    Numbers wanted = normalized_by_hand(
        numbers(x), 5, static_cast<std::size_t>(shape.elements() / 20), 4, 3, scale, offset);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
    EXPECT_TRUE(graph.effects().empty());
  }
}

// Two layers of it: what comes of a row does not depend on the others.
TEST(VirtualBatchNorm, RowsAreIndependent) {
  Graph graph;
  Scope s(graph);
  Array reference = noise({4, 3, 3, 2}, 1), x = noise({3, 3, 3, 2}, 2);
  auto network = [](Scope at) {
    return [at](Tensor both) {
      both = virtual_batch_norm(at / "n1", both, {.reference_rows = 4});
      both = conv2d(at / "c", relu(both), {.filters = 2, .kernel = 3});
      return virtual_batch_norm(at / "n2", both, {.reference_rows = 4, .scale = false});
    };
  };
  Tensor all = with_reference_batch(reference, constant(graph, x), network(s));
  Tensor one = with_reference_batch(reference, constant(graph, x.rows(1, 1)), network(s.shared()));
  EXPECT_EQ(all.shape(), x.shape());
  EXPECT_EQ(one.shape(), (Shape{1, 3, 3, 2}));
  std::vector<Array> found = evaluate({all, one}, {});
  EXPECT_TRUE(identical(found[0].rows(1, 1), found[1]));
  EXPECT_FALSE(identical(found[0].rows(0, 1), found[1]));
  EXPECT_EQ(graph.find_variable("n2/scale"), nullptr);
}

TEST(VirtualBatchNorm, Errors) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", {{3, 2}, DType::f32});
  EXPECT_THAT(error_of([&] { virtual_batch_norm(s / "n", x, {.reference_rows = 4}); }),
              HasSubstr("4 rows of reference in f32[3, 2] (at n)"));
  EXPECT_THAT(error_of([&] { virtual_batch_norm(s, x, {.reference_rows = 0}); }),
              HasSubstr("0 rows of reference"));
  EXPECT_THAT(error_of([&] { virtual_batch_norm(s, x, {.reference_rows = 1, .epsilon = 0}); }),
              HasSubstr("epsilon must be above 0"));
  EXPECT_THAT(error_of([&] {
                with_reference_batch(noise({4, 3}), x, [](Tensor both) { return both; });
              }),
              HasSubstr("the reference is f32[4, 3] but x is f32[3, 2]"));
}

// ---- conditions

TEST(Conditioning, CodesStandBesideEveryPixel) {
  Graph graph;
  Tensor labels = tensor(graph, {2}, {std::int64_t{1}, std::int64_t{0}});
  Tensor z = tensor(graph, {2, 1}, {5.0f, 6.0f});
  EXPECT_THAT(values(concat_one_hot(z, labels, 2)), ElementsAre(5, 0, 1, 6, 1, 0));
  Tensor image = tensor(graph, {2, 1, 2, 1}, {5.0f, 6.0f, 7.0f, 8.0f});
  Tensor both = concat_one_hot(image, labels, 2);
  EXPECT_EQ(both.shape(), (Shape{2, 1, 2, 3}));
  EXPECT_THAT(values(both), ElementsAre(5, 0, 1, 6, 0, 1, 7, 1, 0, 8, 1, 0));
  EXPECT_EQ(concat_code(cast(z, DType::f64), z).dtype(), DType::f64);
}

TEST(Conditioning, ADenseLayerOfTheCodeIsAdded) {
  Graph graph;
  Scope s(graph);
  Tensor x = tensor(graph, {2, 1, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor code = tensor(graph, {2, 2}, {1.0f, 0.0f, 0.5f, 2.0f});
  Array kernel = Array::of({10.0f, 20.0f, 30.0f, 40.0f}, {2, 2}), bias = Array::of({0.25f, 0.5f});
  Tensor y = condition_on(s, x, code);
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_THAT(values(y, {{"kernel", kernel}, {"bias", bias}}),
              ElementsAre(11.25, 22.5, 3 + 5 + 60 + 0.25, 4 + 10 + 80 + 0.5));
  Tensor labels = tensor(graph, {2}, {std::int64_t{2}, std::int64_t{0}});
  y = condition_on_one_hot(s / "c", x, labels, {.classes = 3, .embedding = 2});
  Array table = Array::of({0.5f, 2.0f, 7.0f, 7.0f, 1.0f, 0.0f}, {3, 2});
  EXPECT_THAT(values(y, {{"c/kernel", kernel}, {"c/bias", bias}, {"c/embedding/table", table}}),
              ElementsAre(11.25, 22.5, 3 + 5 + 60 + 0.25, 4 + 10 + 80 + 0.5));
}

TEST(Conditioning, ABatchMayHaveNoRows) {
  Graph graph;
  Tensor x = input(graph, "x", {{0, 3, 2}, DType::f32}),
         code = input(graph, "c", {{0, 4}, DType::f32});
  EXPECT_EQ(condition_on(Scope(graph), x, code).shape(), x.shape());
  EXPECT_EQ(graph.find_variable("kernel")->output().shape, (Shape{4, 6}));
}

TEST(Conditioning, Errors) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", {{3, 2}, DType::f32}), two = input(graph, "t", {{2, 2}, DType::f32});
  EXPECT_THAT(error_of([&] { concat_code(x, two); }),
              HasSubstr("x is f32[3, 2] and the code f32[2, 2]; expected a code for each row"));
  EXPECT_THAT(error_of([&] { concat_code(x, reshape(x, {3, 2, 1})); }), HasSubstr("a matrix"));
  EXPECT_THAT(error_of([&] { condition_on(s, x, two); }), HasSubstr("condition_on: x is"));
  Tensor label = input(graph, "l", {{3}, DType::i64});
  Tensor y = condition_on_one_hot(s, x, label, {.classes = 3});
  Array bad = Array::of({std::int64_t{0}, std::int64_t{3}, std::int64_t{1}});
  EXPECT_THAT(error_of([&] {
                evaluate({y}, {{"l", bad}, {"x", Array::zeros({3, 2}, DType::f32)}});
              }),
              HasSubstr("outside 0..2"));
}

}  // namespace
}  // namespace belfry::gan
