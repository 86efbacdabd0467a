#include "augment/images.h"

namespace belfry::data {
namespace {

// Multiplies by exactly f.
Augmentation times(double f) { return brightness({.factor = {f, f}}); }

TEST(Compose, AppliesInOrder) {
  Array in = image<float>({1, 2, 1}, {0.4f, 0.8f});
  // 0.8 * 2 is clamped to 1 before it is halved.
  EXPECT_EQ(floats(compose({times(2), times(0.5)}), in), (Floats{0.4f, 0.5f}));
  EXPECT_EQ(floats(compose({times(0.5), times(2)}), in), (Floats{0.4f, 0.8f}));
  EXPECT_EQ(floats(compose({}), in), (Floats{0.4f, 0.8f}));
}

TEST(Compose, StepsDrawIndependentNumbers) {
  Augmentation two = compose({flip_horizontal(), flip_vertical()});
  Array in = numbered({2, 2, 1});
  int seen[4] = {0, 0, 0, 0};
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++seen[static_cast<int>(floats(two, in, seed)[0]) - 1];
  for (int count : seen) expect_binomial(count, 4000, 0.25);
}

TEST(Compose, OptionsOfAStepDoNotChangeLaterNumbers) {
  Array in = numbered({6, 6, 1});
  Augmentation after = crop({.height = 3, .width = 3});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Floats plain = floats(compose({flip_horizontal({.probability = 0}), after}), in, seed);
    EXPECT_EQ(floats(compose({random_erasing({.probability = 0}), after}), in, seed), plain);
    EXPECT_EQ(floats(compose({color_jitter({0, 0, 0, 0}), after}), in, seed), plain);
  }
}

TEST(OneOf, ChoosesByWeight) {
  Array in = image<float>({1, 1, 1}, {1});
  auto count = [&](const Augmentation& a, float value) {
    int out = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) out += floats(a, in, seed)[0] == value;
    return out;
  };
  Augmentation equal = one_of({times(0.5), times(0.25), times(0.125)});
  for (float value : {0.5f, 0.25f, 0.125f}) expect_binomial(count(equal, value), 3000, 1.0 / 3);
  Augmentation weighted =
      one_of({times(0.5), times(0.25), times(0.125), times(0.0625)}, {1, 0, 3, 4});
  expect_binomial(count(weighted, 0.5f), 3000, 0.125);
  EXPECT_EQ(count(weighted, 0.25f), 0);
  expect_binomial(count(weighted, 0.125f), 3000, 0.375);
  expect_binomial(count(weighted, 0.0625f), 3000, 0.5);
  EXPECT_EQ(count(one_of({times(0.5), times(0.25)}, {0, 1e-9}), 0.25f), 3000);
}

TEST(OneOf, RefusesWeightsThatDoNotFit) {
  EXPECT_EQ(error_of([] { one_of({}); }), "one_of: there is nothing to choose from");
  EXPECT_EQ(error_of([] {
              one_of({hue(), hue()}, {1});
            }),
            "one_of: expected 2 weights, one a choice, got 1");
  EXPECT_EQ(error_of([] {
              one_of({hue(), hue()}, {1, -1});
            }),
            "one_of: weights are at least 0, got -1");
  EXPECT_EQ(error_of([] { one_of({hue()}, {0}); }),
            "one_of: weights must have a sum above 0, got 0");
}

TEST(Sometimes, AppliesWithItsProbability) {
  Array in = image<float>({1, 1, 1}, {1});
  for (double p : {0.1, 0.5, 0.9}) {
    int applied_count = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed)
      applied_count += floats(sometimes(p, times(0.5)), in, seed)[0] == 0.5f;
    expect_binomial(applied_count, 3000, p);
  }
  EXPECT_EQ(floats(sometimes(1, times(0.5)), in), Floats{0.5f});
  EXPECT_EQ(floats(sometimes(0, times(0.5)), in), Floats{1});
  EXPECT_EQ(error_of([] { sometimes(1.1, times(1)); }),
            "sometimes: probability must be from 0 to 1, got 1.1");
  EXPECT_EQ(
      error_of([] { augmentation_from_json(R"({"name":"sometimes","probability":1,"of":[]})"); }),
      "augmentation: sometimes: expected one augmentation, got 0; make it one with compose");
}

TEST(Combine, AnErrorNamesTheStepOnce) {
  Augmentation nested = compose({sometimes(1, one_of({crop({.height = 1, .width = 1})}))});
  EXPECT_EQ(call_error(nested, {{"x", numbered({2, 2, 1})}, {"label", numbered({1})}}),
            "crop: unknown feature `image`; this batch has x, label");
}

}  // namespace
}  // namespace belfry::data
