#include <cmath>
#include <cstring>
#include <set>

#include "pipeline.h"

namespace belfry::data {
namespace {

std::vector<Features> elements(const Dataset& dataset) {
  std::vector<Features> out;
  InputStreamPtr stream = open(dataset);
  for (Features f; stream->next(f); f = {}) out.push_back(f);
  return out;
}

bool same(const Features& a, const Features& b) {
  return identical(a.at("image"), b.at("image")) && identical(a.at("label"), b.at("label"));
}

TEST(DrawnDigits, LookLikeMnistToAModel) {
  auto all = elements(drawn_digits({.count = 500}));
  ASSERT_EQ(all.size(), 500u);
  Values labels(10);
  for (const Features& f : all) {
    EXPECT_EQ(to_string(signature_of(f)), "image f32[28, 28, 1], label i64[]");
    ++labels[static_cast<std::size_t>(f.at("label").item())];
    double most = 0, sum = 0;
    for (float x : f.at("image").span<float>()) {
      EXPECT_TRUE(x >= 0 && x <= 1);
      most = std::max<double>(most, x);
      sum += x;
    }
    EXPECT_GT(most, 0.4);       // there is ink
    EXPECT_LT(sum / 784, 0.5);  // and more paper
  }
  for (std::int64_t n : labels) EXPECT_TRUE(n > 25 && n < 80) << n;  // 50 +- 4 deviations
}

TEST(DrawnDigits, DependOnSeedSplitAndIndexAlone) {
  auto first = elements(drawn_digits({.count = 60, .workers = 1}));
  auto again = elements(drawn_digits({.count = 60, .workers = 4}) | threads(4));
  auto longer = elements(drawn_digits({.count = 80}));
  auto test = elements(drawn_digits({.split = Split::test, .count = 60}));
  auto other = elements(drawn_digits({.count = 60, .seed = 2}));
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_TRUE(same(first[i], again[i]));
    EXPECT_TRUE(same(first[i], longer[i]));
    EXPECT_FALSE(same(first[i], test[i]));
    EXPECT_FALSE(same(first[i], other[i]));
  }
}

TEST(DrawnDigits, NoTwoAreTheSame) {
  std::set<std::string> seen;
  for (Split split : {Split::train, Split::test})
    for (const Features& f : elements(drawn_digits({.split = split, .count = 1000}))) {
      auto bytes = f.at("image").raw_bytes();
      seen.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  EXPECT_EQ(seen.size(), 2000u);
}

// A digit can be told from the others by the nearest of the ten mean pictures: far better than the
// tenth that guessing gives, far from perfect, as it should be for something to learn from.
TEST(DrawnDigits, AreRecognisable) {
  std::vector<std::vector<double>> means(10, std::vector<double>(784));
  Values counts(10);
  for (const Features& f : elements(drawn_digits({.count = 2000}))) {
    auto label = static_cast<std::size_t>(f.at("label").item());
    auto image = f.at("image").span<float>();
    for (std::size_t p = 0; p < 784; ++p) means[label][p] += image[p];
    ++counts[label];
  }
  int right = 0;
  for (const Features& f : elements(drawn_digits({.split = Split::test, .count = 500}))) {
    auto image = f.at("image").span<float>();
    double best = 1e9;
    std::size_t guess = 0;
    for (std::size_t d = 0; d < 10; ++d) {
      double distance = 0;
      for (std::size_t p = 0; p < 784; ++p)
        distance += std::pow(image[p] - means[d][p] / static_cast<double>(counts[d]), 2);
      if (distance < best) best = distance, guess = d;
    }
    right += guess == static_cast<std::size_t>(f.at("label").item());
  }
  EXPECT_GT(right, 250);
  EXPECT_LT(right, 490);
}

TEST(DrawnDigits, ShuffleByPermutationAndResume) {
  Dataset data = drawn_digits({.count = 30}) | shuffle(30) | repeat();
  EXPECT_TRUE(drawn_digits({.count = 30}).info().random_access);
  InputStreamPtr stream = open(data);
  Features a, b;
  for (int i = 0; i < 41; ++i) stream->next(a);
  InputStreamPtr resumed = open(data);
  resumed->restore(stream->save());
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(stream->next(a) && resumed->next(b));
    EXPECT_TRUE(same(a, b));
  }
  EXPECT_EQ(error_of([] { drawn_digits({.count = -1}); }),
            "drawn_digits: count must be at least 0, got -1");
}

}  // namespace
}  // namespace belfry::data
