#include "belfry/models/sequences/ctc_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "../../framework/base/error_of.h"
#include "belfry/framework/framework.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Labels = std::vector<std::int64_t>;

constexpr double inf = std::numeric_limits<double>::infinity();

/// Frames of these probabilities.
Array logs(std::vector<double> probabilities, std::int64_t classes) {
  for (double& p : probabilities) p = std::log(p);
  return Array::of(std::span<const double>(probabilities),
                   {static_cast<std::int64_t>(probabilities.size()) / classes, classes});
}

Array noise(std::int64_t frames, std::int64_t classes, std::uint64_t seed) {
  Array out({frames, classes}, DType::f64);
  PhiloxStream random(philox_key(seed, "logits"));
  for (double& x : out.span<double>()) x = 6 * random.uniform_double() - 3;
  return out;
}

/// The probability of every sequence, as the sum over all paths, one by one.
std::map<Labels, double> enumerate(const Array& logits, std::int64_t blank) {
  std::int64_t frames = logits.shape()[0], classes = logits.shape()[1];
  std::vector<double> p;
  for (std::int64_t t = 0; t < frames; ++t) {
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits.at(t * classes + k));
    for (std::int64_t k = 0; k < classes; ++k)
      p.push_back(std::exp(logits.at(t * classes + k)) / sum);
  }
  std::map<Labels, double> found;
  Labels path(static_cast<std::size_t>(frames));
  for (;;) {
    double probability = 1;
    Labels read;
    for (std::size_t t = 0; t < path.size(); ++t) {
      probability *= p[t * static_cast<std::size_t>(classes) + static_cast<std::size_t>(path[t])];
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) read.push_back(path[t]);
    }
    found[read] += probability;
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) return found;
  }
}

// Wide enough to keep all, the search gives every sequence with its probability, best first.
TEST(CtcBeamSearch, IsExactWhereNothingIsLeftOut) {
  struct Case {
    std::int64_t frames, classes, blank;
  };
  std::uint64_t seed = 0;
  for (const Case& c : std::vector<Case>{{1, 2, 0}, {4, 3, 0}, {6, 2, 1}, {5, 3, -1}, {4, 4, 2}}) {
    Array x = noise(c.frames, c.classes, ++seed);
    auto wanted = enumerate(x, c.blank < 0 ? c.blank + c.classes : c.blank);
    auto got = ctc_beam_search(x, {.width = 1000, .paths = 1000, .blank = c.blank});
    ASSERT_EQ(got.size(), wanted.size());
    double total = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i].log_probability, std::log(wanted.at(got[i].labels)), 1e-12);
      EXPECT_LE(got[i].log_probability, got[i == 0 ? 0 : i - 1].log_probability);
      total += std::exp(got[i].log_probability);
    }
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST(CtcBeamSearch, AgreesWithTheLoss) {
  Array x = noise(7, 4, 9);
  CtcPath best = ctc_beam_search(x, {.width = 10'000})[0];
  Graph graph;
  auto count = static_cast<std::int64_t>(best.labels.size());
  Tensor loss =
      ctc_loss(constant(graph, x.reshape({1, 7, 4})),
               constant(graph, Array::of(std::span<const std::int64_t>(best.labels), {1, count})),
               constant(graph, Array::of({7})), constant(graph, Array::of({count})));
  EXPECT_NEAR(evaluate({loss})[0].item(), -best.log_probability, 1e-12);
}

// Two frames, blank 0.6 and label 0.4: the best path is of blanks (0.36), but the label has three
// paths, 0.64 in all (Graves 2012, figure 7.4).
TEST(CtcBeamSearch, FindsWhatTheBestPathMisses) {
  Array x = logs({.6, .4, .6, .4}, 2);
  CtcPath path = ctc_best_path(x);
  EXPECT_THAT(path.labels, IsEmpty());
  EXPECT_NEAR(path.log_probability, std::log(.36), 1e-12);
  auto beam = ctc_beam_search(x, {.paths = 2});
  ASSERT_EQ(beam.size(), 2u);
  EXPECT_THAT(beam[0].labels, ElementsAre(1));
  EXPECT_NEAR(beam[0].log_probability, std::log(.64), 1e-12);
  EXPECT_THAT(beam[1].labels, IsEmpty());
  EXPECT_NEAR(beam[1].log_probability, std::log(.36), 1e-12);
}

// With width 1 the first frame keeps nothing but the empty prefix (0.6), so of the label's three
// paths only blank-label counts: 0.24 against 0.36.
TEST(CtcBeamSearch, ANarrowBeamLosesPaths) {
  auto beam = ctc_beam_search(logs({.6, .4, .6, .4}, 2), {.width = 1, .paths = 5});
  ASSERT_EQ(beam.size(), 1u);
  EXPECT_THAT(beam[0].labels, IsEmpty());
  EXPECT_NEAR(beam[0].log_probability, std::log(.36), 1e-12);
}

TEST(CtcBeamSearch, SequencesWithoutAPathAreNotFound) {
  Array x = Array::of({0.0, -inf, 0.0, 0.0}, {2, 2});
  auto beam = ctc_beam_search(x, {.paths = 5});
  ASSERT_EQ(beam.size(), 2u);
  EXPECT_NEAR(std::exp(beam[0].log_probability), .5, 1e-12);
  EXPECT_THAT(beam[0].labels, IsEmpty());
  EXPECT_THAT(beam[1].labels, ElementsAre(1));
}

TEST(CtcBeamSearch, LongSilenceDoesNotUnderflow) {
  Array x = Array::zeros({3000, 3}, DType::f32);
  EXPECT_TRUE(std::isfinite(ctc_beam_search(x, {.width = 4})[0].log_probability));
  EXPECT_NEAR(ctc_best_path(x).log_probability, -3000 * std::log(3.0), 1e-8);
}

TEST(CtcBestPath, ReadsEachFramesBestClass) {
  CtcPath path =
      ctc_best_path(logs({.1, .7, .2, .1, .7, .2, .5, .2, .3, .2, .5, .3, .1, .1, .8}, 3));
  EXPECT_THAT(path.labels, ElementsAre(1, 1, 2));
  EXPECT_NEAR(path.log_probability, std::log(.7 * .7 * .5 * .5 * .8), 1e-12);
  EXPECT_THAT(ctc_best_path(logs({.1, .7, .2, .5, .2, .3}, 3), {.blank = -2}).labels,
              ElementsAre(0));
  EXPECT_THAT(ctc_best_path(Array::zeros({0, 3})).labels, IsEmpty());
}

TEST(CtcDecode, ErrorsSayWhatDoesNotFit) {
  EXPECT_EQ(error_of([] {
              ctc_best_path(Array::zeros({2, 3, 4}));
            }),
            "ctc_best_path: logits must be floating [t, classes], got f32[2, 3, 4]");
  EXPECT_EQ(error_of([] {
              ctc_beam_search(Array::zeros({2, 3}), {.blank = 3});
            }),
            "ctc_beam_search: blank 3 is not a class of logits f32[2, 3]");
  EXPECT_EQ(error_of([] {
              ctc_beam_search(Array::zeros({2, 3}), {.width = 0});
            }),
            "ctc_beam_search: width and paths must be at least 1, got 0 and 1");
  for (double bad : {std::nan(""), inf})
    EXPECT_EQ(error_of([&] {
                ctc_best_path(Array::of({0.0, 1.0, 0.0, bad}, {2, 2}));
              }),
              "ctc_best_path: the logits of frame 1 are NaN or infinite");
  EXPECT_EQ(error_of([] {
              ctc_best_path(Array::of({-inf, -inf}, {1, 2}));
            }),
            "ctc_best_path: the logits of frame 0 are NaN or infinite");
}

}  // namespace
}  // namespace belfry::models
