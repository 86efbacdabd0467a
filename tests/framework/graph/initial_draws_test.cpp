// Numbers that are drawn many at a time and by several threads are those that a stream gives one
// after the other.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

constexpr PhiloxKey some_key{77};

Array one_by_one(const TensorType& type, const std::function<double(PhiloxStream&)>& draw,
                 PhiloxKey key) {
  Array out(type);
  PhiloxStream random(key);
  dispatch(type.dtype, [&](auto t) {
    using T = decltype(t);
    for (T& x : out.span<T>()) x = static_cast<T>(static_cast<compute_type<T>>(draw(random)));
  });
  return out;
}

double cut(PhiloxStream& random) {
  double x = random.normal();
  while (std::abs(x) > 2) x = random.normal();
  return x;
}

struct Case {
  Initializer initializer;
  std::function<double(PhiloxStream&)> draw;
};

// For a matrix of `rows` rows and 5 columns.
std::vector<Case> cases(double rows) {
  constexpr double cut_deviation = 0.87962566103423978;
  return {
      {uniform(-1, 3), [](PhiloxStream& r) { return -1 + (3.0 - -1.0) * r.uniform_double(); }},
      {normal(2, 3), [](PhiloxStream& r) { return 2 + 3 * r.normal(); }},
      {normal(1e-6, 0.02), [](PhiloxStream& r) { return 1e-6 + 0.02 * r.normal(); }},
      {normal(1, 0), [](PhiloxStream& r) { return 1 + 0 * r.normal(); }},
      {truncated_normal(1, 0.5), [](PhiloxStream& r) { return 1 + 0.5 * cut(r); }},
      {glorot_uniform(),
       [=](PhiloxStream& r) {
         return std::sqrt(3 * (1 / ((rows + 5) / 2))) * (2 * r.uniform_double() - 1);
       }},
      {he_normal(), [=](PhiloxStream& r) { return std::sqrt(2 / rows) / cut_deviation * cut(r); }},
      {{.kind = Initializer::Kind::variance_scaling,
        .a = 1,
        .distribution = Initializer::Kind::normal},
       [=](PhiloxStream& r) { return std::sqrt(1 / rows) * r.normal(); }},
      {{.kind = Initializer::Kind::variance_scaling,
        .a = 0,
        .distribution = Initializer::Kind::normal},
       [](PhiloxStream& r) { return 0 * r.normal(); }},  // with both signs
  };
}

void expect_same(const TensorType& type, const std::vector<Case>& cases, PhiloxKey key = some_key) {
  for (const Case& c : cases) {
    Array out(type);
    c.initializer.fill(out, key);
    EXPECT_TRUE(identical(out, one_by_one(type, c.draw, key)))
        << to_string(c.initializer) << ", " << to_string(type);
  }
}

TEST(InitialDraws, FewAreThoseOfTheStream) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32})
    for (std::int64_t rows : {1, 51, 103, 2000})
      expect_same({{rows, 5}, dtype}, cases(static_cast<double>(rows)));
}

// Subnormal and infinite floats.
TEST(InitialDraws, ExtremesAreThoseOfTheStream) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    expect_same({{2000, 5}, dtype},
                {{normal(0, 1e-40), [](PhiloxStream& r) { return 0 + 1e-40 * r.normal(); }},
                 {normal(0, 1e39), [](PhiloxStream& r) { return 0 + 1e39 * r.normal(); }}});
}

// Draw 48725 of key 126 lies so near the middle of two floats that the near draw (by AVX2 and fused
// products) is rounded to the other one: 0x1.adc9dcffffffcp-9, where it is 0x1.adc9dd0000001p-9.
TEST(InitialDraws, DrawsBetweenTwoFloatsAreExact) {
  expect_same({{65'536}, DType::f32},
              {{normal(0, 0.02), [](PhiloxStream& r) { return 0 + 0.02 * r.normal(); }}},
              PhiloxKey{126});
}

// 800,000 elements: three threads where there are so many cores, and several rounds.
TEST(InitialDraws, ManyAreThoseOfTheStream) {
  expect_same({{160'000, 5}, DType::f32}, cases(160'000));
}

}  // namespace
}  // namespace belfry
