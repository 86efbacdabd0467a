#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

std::int64_t value_of(const Features& f) { return f.at("value").span<std::int64_t>()[0]; }

// The class of an element: one of ten elements is of class 1, and nine are of class 0.
std::int64_t tenth(const Features& f) {
  require(value_of(f) != 5, "no class");
  return value_of(f) % 10 == 0;
}

// How many of class 0 and 1.
std::array<int, 2> counts(const Dataset& data) {
  std::array<int, 2> out{};
  for (std::int64_t value : values(data)) ++out[value % 10 == 0];
  return out;
}

TEST(RejectionResample, MakesClassesAsFrequentAsAsked) {
  Dataset data = range(20'000) | skip(6);
  auto [zeros, ones] = counts(data | rejection_resample(tenth, {1, 1}, {.initial = {9, 1}}));
  EXPECT_EQ(ones, 1999);  // all there are
  EXPECT_NEAR(zeros, 2000, 5 * std::sqrt(18'000 * (1 / 9.0) * (8 / 9.0)));
  // As many as there are already, in another unit.
  EXPECT_EQ(values(data | rejection_resample(tenth, {0.9, 0.1}, {.initial = {9, 1}})),
            values(data));
  // A class that is not wanted.
  EXPECT_EQ(counts(data | rejection_resample(tenth, {0, 3}, {.initial = {9, 1}})),
            (std::array<int, 2>{0, 1999}));
}

TEST(RejectionResample, FindsOutHowFrequentTheyAre) {
  auto [zeros, ones] = counts(range(20'000) | skip(6) | rejection_resample(tenth, {1, 1}));
  EXPECT_EQ(ones, 1999);
  EXPECT_NEAR(zeros, 2000, 300);
  // The first is kept: nothing is known of any other class.
  EXPECT_EQ(values(range(20) | skip(6) | rejection_resample(tenth, {1, 1000}), 1), Values{6});
}

TEST(RejectionResample, DrawsDependOnSeedEpochAndElement) {
  auto resampled = [](std::uint64_t seed) {
    return rejection_resample(tenth, {1, 1}, {.initial = {9, 1}, .seed = seed});
  };
  Dataset data = range(300) | skip(6);
  EXPECT_EQ(values(data | resampled(1)), values(data | resampled(1)));
  EXPECT_NE(values(data | resampled(1)), values(data | resampled(2)));
  Values twice = values(data | repeat(2) | resampled(1)),
         once = values(data | repeat(1) | resampled(1));
  ASSERT_GT(twice.size(), once.size());
  EXPECT_EQ(Values(twice.begin(), twice.begin() + std::ssize(once)), once);
  EXPECT_NE(Values(twice.begin() + std::ssize(once), twice.end()), once);
  // Shared, every element is judged as in the whole.
  Values all;
  for (int i : {0, 1, 2})
    for (std::int64_t value :
         values(*(range(300) | skip(6) | resampled(1)).open({.pipelines = 3, .pipeline = i})))
      all.push_back(value);
  EXPECT_EQ(sorted(all), values(data | resampled(1)));
}

TEST(RejectionResample, ResumesAnywhere) {
  for (const ResampleOptions& options : {ResampleOptions{.initial = {9, 1}}, ResampleOptions{}}) {
    Dataset data = range(60) | failing_at({17, 20}) | shuffle(60)
                   | rejection_resample(tenth, {1, 2}, options) | repeat(2);
    expect_resumes(data);
    expect_resumes(streamed(60) | rejection_resample(tenth, {1, 1}, options));
    expect_skips(streamed(60) | rejection_resample(tenth, {1, 1}, options));
  }
  EXPECT_EQ(error_of([] {
              open(range(3) | rejection_resample(tenth, {1, 1}))
                  ->restore("rejection_resample.seen=3,1,2,3 indexed.size=3 indexed.next=0");
            }),
            "input: the saved position has 3 classes, this pipeline has 2");
}

TEST(RejectionResample, AnErrorComesInPlaceOfItsElement) {
  EXPECT_EQ(words(range(7) | skip(4) | rejection_resample(tenth, {1, 0}, {.initial = {1, 1}})),
            (Words{"4", "error: no class (at element 5, epoch 0)", "6"}));
  auto third = [](const Features& f) { return value_of(f) - 1; };
  EXPECT_EQ(
      words(range(4) | rejection_resample(third, {1, 1}, {.initial = {1, 1}})),
      (Words{"error: rejection_resample: class -1 is none of the 2 for which there are "
             "targets (at element 0, epoch 0)",
             "1", "2",
             "error: rejection_resample: class 2 is none of the 2 for which there are targets "
             "(at element 3, epoch 0)"}));
}

TEST(RejectionResample, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { rejection_resample(nullptr, {1}); }),
            "rejection_resample: the function is empty");
  EXPECT_EQ(error_of([] {
              rejection_resample(tenth, {1, -1});
            }),
            "rejection_resample: target weights must be at least 0 and finite, got -1");
  EXPECT_EQ(error_of([] {
              rejection_resample(tenth, {0, 0});
            }),
            "rejection_resample: all target weights are 0");
  EXPECT_EQ(error_of([] {
              rejection_resample(tenth, {1, 1}, {.initial = {0, 0}});
            }),
            "rejection_resample: all initial weights are 0");
  EXPECT_EQ(error_of([] {
              rejection_resample(tenth, {1, 1}, {.initial = {1}});
            }),
            "rejection_resample: there are 2 target weights and 1 initial ones");
  EXPECT_EQ(error_of([] {
              rejection_resample(tenth, {1, 1}, {.initial = {1, 0}});
            }),
            "rejection_resample: class 1 is to occur, but .initial says that there is none of it");
}

}  // namespace
}  // namespace belfry::data
