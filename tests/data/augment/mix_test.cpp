#include <cmath>
#include <set>

#include "augment/images.h"
#include "belfry/data/augment/random.h"

namespace belfry::data {
namespace {

Array classes_of(std::int64_t rows) {
  Array out({rows}, DType::i64);
  for (std::int64_t i = 0; i < rows; ++i) out.span<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  return out;
}

Features mixed(const Augmentation& a, const Features& batch, std::uint64_t seed) {
  Features own;
  for (const auto& [name, array] : batch) own.set(name, array.clone());
  PhiloxStream random = stream(seed);
  return a(std::move(own), random);
}

// With row i of class i, the soft labels tell each row's partner and share.
struct Mixing {
  explicit Mixing(const Array& label) : rows(label.shape()[0]) {
    for (std::int64_t i = 0; i < rows; ++i) {
      std::int64_t other = i;
      double sum = 0;
      for (std::int64_t c = 0; c < rows; ++c) {
        double fraction = label.at(rows * i + c);
        sum += fraction;
        if (c == i || fraction == 0) continue;
        EXPECT_EQ(std::exchange(other, c), i) << "two partners";
        kept = 1 - fraction;
      }
      EXPECT_NEAR(sum, 1, 1e-6);
      partner.push_back(other);
    }
    EXPECT_EQ(std::set<std::int64_t>(partner.begin(), partner.end()).size(), partner.size())
        << "partners are no permutation";
  }
  std::int64_t rows;
  double kept = 1;
  std::vector<std::int64_t> partner;
};

TEST(Mixup, BlendsRowsAndLabelsAlike) {
  for (DType dtype : {DType::u8, DType::f32})
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Array image = noise({7, 3, 2, 3}, dtype);
      Features out =
          mixed(mixup({.classes = 7}), {{"image", image}, {"label", classes_of(7)}}, seed);
      ASSERT_EQ(out.at("label").type(), (TensorType{{7, 7}, DType::f32}));
      ASSERT_EQ(out.at("image").type(), image.type());
      Mixing m(out.at("label"));
      for (std::int64_t i = 0; i < 7; ++i)
        for (std::int64_t e = 0; e < 18; ++e) {
          double expected =
              m.kept * image.at(18 * i + e)
              + (1 - m.kept) * image.at(18 * m.partner[static_cast<std::size_t>(i)] + e);
          ASSERT_NEAR(out.at("image").at(18 * i + e), expected, dtype == DType::u8 ? 0.501 : 1e-6);
        }
    }
}

TEST(Mixup, SharesHaveTheBetaDistribution) {
  constexpr int trials = 2000;
  int low = 0, lower = 0, told = 0;
  Features batch{{"image", numbered({2, 1})}, {"label", classes_of(2)}};
  for (std::uint64_t seed = 0; seed < 2 * trials; ++seed) {
    Mixing m(mixed(mixup({.alpha = 0.5, .classes = 2}), batch, seed).at("label"));
    if (m.partner[0] == 0) continue;  // the share cannot be told
    ++told;
    low += m.kept < 0.5;
    lower += m.kept < 0.25;  // the arcsine distribution: 2 / pi asin(1 / 2) = 1 / 3
  }
  expect_binomial(told, 2 * trials, 0.5);
  expect_binomial(low, told, 0.5);
  expect_binomial(lower, told, 1.0 / 3);
}

TEST(Mixup, HappensWithItsProbabilityAndSoftensLabelsAlways) {
  Features batch{{"image", numbered({5, 2})}, {"label", classes_of(5)}};
  int unchanged = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Features out = mixed(mixup({.probability = 0.3, .classes = 5}), batch, seed);
    ASSERT_EQ(out.at("label").type(), (TensorType{{5, 5}, DType::f32}));
    unchanged += identical(out.at("image"), batch.at("image"));
  }
  // One permutation of 120 leaves all rows as they are.
  expect_binomial(unchanged, 1000, 0.7 + 0.3 / 120);
}

TEST(Mixup, TakesSoftLabels) {
  Array label = image<float>({2, 3}, {0.5f, 0.5f, 0, 0, 0, 1});
  Features out = mixed(mixup({.label = "y"}), {{"image", numbered({2, 2})}, {"y", label}}, 3);
  EXPECT_EQ(out.at("y").shape(), (Shape{2, 3}));
  double kept = 2 * out.at("y").at(0);
  EXPECT_NEAR(out.at("y").at(2), 1 - kept, 1e-6);
  EXPECT_NEAR(out.at("image").at(0), kept * 1 + (1 - kept) * 3, 1e-6);
  EXPECT_EQ(label.at(0), 0.5) << "the labels given must stay";
}

TEST(Cutmix, PastesOneRectangleAndCountsItsArea) {
  constexpr std::int64_t n = 6, h = 10, w = 12, pixels = h * w;
  Array image({n, h, w, 2}, DType::u8);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n * pixels * 2); ++i)
    image.span<std::uint8_t>()[i] = static_cast<std::uint8_t>(i / (2 * pixels));
  int pasted = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (DType dtype : {DType::u8, DType::f32}) {
      Features out = mixed(cutmix({.classes = n}),
                           {{"image", image.cast(dtype)}, {"label", classes_of(n)}}, seed);
      Mixing m(out.at("label"));
      std::int64_t area = std::llround((1 - m.kept) * pixels), top = h, left = w, bottom = 0,
                   right = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t other = m.partner[static_cast<std::size_t>(i)], found = 0;
        for (std::int64_t p = 0; p < pixels; ++p) {
          double value = out.at("image").at(2 * (i * pixels + p));
          ASSERT_EQ(out.at("image").at(2 * (i * pixels + p) + 1), value);
          if (value == static_cast<double>(i)) continue;
          ASSERT_EQ(value, static_cast<double>(other));
          ++found;
          top = std::min(top, p / w), bottom = std::max(bottom, p / w + 1);
          left = std::min(left, p % w), right = std::max(right, p % w + 1);
        }
        EXPECT_EQ(found, other == i ? 0 : area);
      }
      if (area == 0) continue;
      EXPECT_EQ((bottom - top) * (right - left), area) << "not the same rectangle in all rows";
      ++pasted;
    }
  EXPECT_GT(pasted, 80);
}

TEST(Cutmix, SidesAreThoseOfThePaperCutAtTheBorders) {
  constexpr std::int64_t h = 40, w = 60;
  Features batch{{"image", noise({2, h, w, 1}, DType::u8)}, {"label", classes_of(2)}};
  int told = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    PhiloxStream random = inner_stream(seed);
    random.uniform_double();  // whether it happens
    double y = random.uniform_double() * h, x = random.uniform_double() * w;
    double side = std::sqrt(1 - draw_beta(1, 1, random));
    auto length = [&](double centre, std::int64_t size) {
      double half = std::floor(side * static_cast<double>(size) / 2);
      double middle = std::floor(centre);
      return std::min(middle + half, static_cast<double>(size)) - std::max(middle - half, 0.0);
    };
    double area = length(y, h) * length(x, w) / (h * w);
    Mixing m(mixed(cutmix({.classes = 2}), batch, seed).at("label"));
    if (m.partner[0] == 0) continue;  // mixed with itself, or nothing cut
    EXPECT_NEAR(1 - m.kept, area, 1e-6);
    ++told;
  }
  EXPECT_GT(told, 25);
}

TEST(Mix, AreTheSameForOneRowAndNone) {
  for (const Augmentation& a : {mixup({.classes = 3}), cutmix({.classes = 3})})
    for (std::int64_t rows : {0, 1}) {
      Features batch{{"image", noise({rows, 4, 4, 1}, DType::u8)}, {"label", classes_of(rows)}};
      Features out = mixed(a, batch, 1);
      EXPECT_TRUE(identical(out.at("image"), batch.at("image"))) << a.name();
      EXPECT_EQ(out.at("label").shape(), (Shape{rows, 3}));
    }
}

TEST(Mix, WorksAfterBatch) {
  Features rows{{"image", noise({9, 4, 4, 1}, DType::u8)}, {"label", classes_of(9)}};
  auto read = [&](int workers) {
    InputStreamPtr s = open(from_arrays(rows) | batch(4)
                            | map(cutmix({.classes = 9}), {.workers = workers, .seed = 2})
                            | map(mixup({.alpha = 0.3}), {.workers = workers}));
    std::vector<Floats> out;
    for (Features f; s->next(f);) {
      out.push_back(values_of<float>(f.at("image").cast(DType::f32)));
      out.push_back(values_of<float>(f.at("label")));
    }
    return out;
  };
  EXPECT_EQ(read(1).size(), 6u);
  EXPECT_EQ(read(1), read(3));
}

TEST(Mix, RefusesWhatIsNoBatch) {
  Array images = numbered({2, 3, 3, 1});
  auto error = [&](const Augmentation& a, const Array& image, const Array& label) {
    return call_error(a, {{"image", image}, {"label", label}});
  };
  EXPECT_EQ(
      error(mixup(), images, classes_of(2)),
      "mixup: feature `label` is i64[2]; give the option classes, how many there are, to make "
      "soft labels of it");
  EXPECT_EQ(error(mixup({.classes = 1}), images, classes_of(2)),
            "mixup: feature `label` is 1 in row 1, expected 0 to 0");
  EXPECT_EQ(error(mixup({.classes = 3}), images, numbered({2, 4})),
            "mixup: feature `label` must be f32[2, 3] or i64[2], got f32[2, 4]");
  EXPECT_EQ(error(cutmix(), images, classes_of(3)),
            "cutmix: feature `label` must be f32[2, classes] or i64[2], got i64[3]");
  EXPECT_EQ(error(cutmix(), numbered({3, 3, 1}), numbered({3, 2})),
            "cutmix: feature `image` must be a batch [n, h, w, c], u8 or f32, got f32[3, 3, 1]; "
            "this belongs after data::batch");
  EXPECT_EQ(error(mixup(), numbered({3, 3}, DType::i64), numbered({3, 2})),
            "mixup: feature `image` must be a batch [n, ...], u8 or f32, got i64[3, 3]; this "
            "belongs after data::batch");
  EXPECT_EQ(call_error(mixup({.label = "class"}), {{"image", images}, {"label", classes_of(2)}}),
            "mixup: unknown feature `class`; this batch has image, label");
  EXPECT_EQ(error_of([] { mixup({.alpha = 0}); }),
            "mixup: alpha must be from 0.001 to 1000, got 0");
  EXPECT_EQ(error_of([] { cutmix({.classes = -1}); }),
            "cutmix: classes must be from 0 to 16777216, got -1");
  EXPECT_EQ(error_of([] { cutmix({.image = "x", .label = "x"}); }),
            "cutmix: the feature `x` is named twice in the options");
}

}  // namespace
}  // namespace belfry::data
