#include <limits>

#include "../layers_support.h"
#include "belfry/framework/layers/metrics/metrics.h"

namespace belfry::testing {
namespace {

/// Rows of four labels, as many of which count.
Sequences rows(Graph& graph, std::initializer_list<std::int64_t> labels,
               std::initializer_list<std::int32_t> lengths) {
  auto n = static_cast<std::int64_t>(lengths.size());
  return {tensor(graph, {n, 4}, labels), tensor(graph, {n}, lengths)};
}

double value(const Metric& metric, const std::vector<double>& state) {
  return metric.value(state).item();
}

// Two labels of three are right, then one label too many: 1 + 1 errors in 3 + 1 labels.
TEST(ErrorRates, AreErrorsOverLabelsOfAllRows) {
  Graph graph;
  Sequences truth = rows(graph, {1, 2, 3, 0, 5, 0, 0, 0}, {3, 1});
  Sequences guess = rows(graph, {1, 4, 3, 9, 5, 5, 9, 9}, {3, 2});
  Metric characters = character_error_rate(truth, guess);
  EXPECT_THAT(values(characters.state), ElementsAre(2, 4));
  EXPECT_EQ(value(characters, {2, 4}), 0.5);
  EXPECT_EQ(value(characters, {2 + 3, 4 + 6}), 0.5);
}

TEST(ErrorRates, OfWordsCountsRowsUnlessThereAreSeparators) {
  Graph graph;
  Sequences truth = rows(graph, {1, 0, 3, 0, 5, 0, 0, 0, 1, 1, 0, 0}, {3, 1, 0});
  Sequences guess = rows(graph, {1, 0, 4, 0, 5, 0, 0, 0, 1, 1, 0, 0}, {3, 1, 0});
  EXPECT_THAT(values(word_error_rate(truth, guess).state), ElementsAre(1, 2));
  EXPECT_THAT(values(word_error_rate(truth, guess, {.separator = 0}).state), ElementsAre(1, 3));
  EXPECT_THAT(values(word_error_rate(truth, truth).state), ElementsAre(0, 2));
}

TEST(ErrorRates, OfNoLabels) {
  Graph graph;
  Sequences none = rows(graph, {1, 1, 1, 1}, {0}), some = rows(graph, {1, 1, 1, 1}, {2});
  Metric metric = character_error_rate(none, some);
  EXPECT_THAT(values(metric.state), ElementsAre(2, 0));
  EXPECT_EQ(value(metric, {2, 0}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value(metric, {0, 0}), 0);
}

}  // namespace
}  // namespace belfry::testing
