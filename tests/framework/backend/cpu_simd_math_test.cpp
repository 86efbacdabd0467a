// The vectorised functions against double, over floats of every size.

#include <cstring>
#include <functional>
#include <limits>

#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(const SimdLoops& loops, std::string_view op, std::vector<float> a,
                         std::vector<float> b = {}) {
  std::size_t n = a.size();
  a.resize((n + 15) / 16 * 16);
  b.resize(a.size());
  std::vector<float> out(a.size());
  loops.elementwise.find(op)->run(a.data(), b.data(), nullptr, out.data(),
                                  static_cast<std::int64_t>(a.size()));
  out.resize(n);
  return out;
}

/// Every 4099th float: all exponents and both signs, infinities and NaN among them.
std::vector<float> sampled_floats() {
  std::vector<float> out;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    auto low = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &low, sizeof x);
    out.push_back(x);
  }
  for (float x : {0.0f, -0.0f, inf, -inf, nan, 1.0f, -1.0f, 88.7228f, 88.7229f, -103.97f, -104.0f,
                  std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()})
    out.push_back(x);
  return out;
}

/// Distance in units of the last place of `exact` as a float.
double ulps(float got, double exact) {
  auto rounded = static_cast<float>(exact);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (!std::isfinite(got) || std::isnan(exact)) return inf;
  double size = std::max(std::abs(exact), 0x1p-126);
  return std::abs(double{got} - exact) / std::ldexp(1.0, std::ilogb(size) - 23);
}

void expect_accurate(std::string_view op, const std::function<double(double)>& exact,
                     double allowed) {
  std::vector<float> x = sampled_floats();
  for (const SimdLoops* loops : simd_choices()) {
    std::vector<float> y = apply(*loops, op, x);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double error = ulps(y[i], exact(double{x[i]}));
      if (error > worst) worst = error, where = x[i];
    }
    EXPECT_LE(worst, allowed) << op << " on " << loops->isa << " at " << where;
  }
}

TEST(SimdMath, ExpIsAccurate) {
  expect_accurate(
      "exp", [](double x) { return std::exp(x); }, 2);
}
TEST(SimdMath, Expm1IsAccurate) {
  expect_accurate(
      "expm1", [](double x) { return std::expm1(x); }, 3);
}
TEST(SimdMath, LogIsAccurate) {
  expect_accurate(
      "log", [](double x) { return std::log(x); }, 2);
}
TEST(SimdMath, Log1pIsAccurate) {
  expect_accurate(
      "log1p", [](double x) { return std::log1p(x); }, 3);
}
TEST(SimdMath, TanhIsAccurate) {
  expect_accurate(
      "tanh", [](double x) { return std::tanh(x); }, 4);
}
TEST(SimdMath, ErfIsAccurate) {
  expect_accurate(
      "erf", [](double x) { return std::erf(x); }, 4);
}
TEST(SimdMath, SigmoidIsAccurate) {
  // By its formula 1 / (1 + exp(-x)) it is 0 where exp(-x) overflows.
  auto exact = [](double x) { return x < -88.72284 ? 0 : 1 / (1 + std::exp(-x)); };
  expect_accurate("sigmoid", exact, 4);
}
TEST(SimdMath, SqrtAndFloorAreExact) {
  expect_accurate(
      "sqrt", [](double x) { return std::sqrt(x); }, 0.5);
  expect_accurate(
      "floor", [](double x) { return std::floor(x); }, 0);
}

TEST(SimdMath, SignsOfZero) {
  for (const SimdLoops* loops : simd_choices())
    for (std::string_view op : {"tanh", "erf", "log1p", "floor", "sqrt"})
      EXPECT_TRUE(std::signbit(apply(*loops, op, {-0.0f})[0])) << op << " on " << loops->isa;
}

TEST(SimdMath, PowIsAccurate) {
  std::vector<float> x, y;
  PhiloxStream random(philox_key(1, "pow"));
  for (int i = 0; i < 200'000; ++i) {
    float base = std::exp2(random.uniform(-149, 128));
    // Exponents whose result stays within the floats, or a little outside.
    float limit = 150 / std::max(std::abs(std::log2(base)), 0.01f);
    x.push_back(base);
    y.push_back(random.uniform(-limit, limit));
  }
  for (const SimdLoops* loops : simd_choices()) {
    std::vector<float> z = apply(*loops, "pow", x, y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(z[i], std::pow(double{x[i]}, double{y[i]})));
    EXPECT_LE(worst, 1) << loops->isa;
  }
}

TEST(SimdMath, PowOfSpecialValuesIsThatOfTheLibrary) {
  std::vector<float> values{0.0f, -0.0f, 1,     -1,  0.5f, -0.5f, 2,        -2,     3,      -3,
                            2.5f, -2.5f, 1e20f, inf, -inf, nan,   16777215, 1e-40f, -1e-40f};
  std::vector<float> x, y;
  for (float a : values)
    for (float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  for (const SimdLoops* loops : simd_choices()) {
    std::vector<float> z = apply(*loops, "pow", x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      float expected = std::pow(x[i], y[i]);
      EXPECT_LE(ulps(z[i], double{expected}), 1) << x[i] << " ^ " << y[i] << " on " << loops->isa;
      if (expected == 0) {
        EXPECT_EQ(std::signbit(z[i]), std::signbit(expected)) << x[i] << " ^ " << y[i];
      }
    }
  }
}

}  // namespace
}  // namespace belfry::cpu
