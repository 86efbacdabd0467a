// Covers ctc_collapse, ctc_greedy_decode, edit_distance.cpp and sequence_rows.cpp.
#include "belfry/framework/ops/sequence/sequences.h"

#include "../support.h"

namespace belfry::testing {
namespace {

using ::testing::HasSubstr;
using Labels = std::vector<std::int64_t>;

Tensor whole(Graph& graph, const Shape& shape, const Labels& elements) {
  return constant(graph, Array::of(std::span<const std::int64_t>(elements), shape));
}

/// Whole numbers in 0..below-1.
Array labels_below(std::int64_t below, const Shape& shape, std::uint64_t seed) {
  return noise_between(0, static_cast<double>(below), shape, seed).cast(DType::i64);
}

TEST(CtcCollapse, MergesRepeatsThenRemovesBlanks) {
  Graph graph;
  Tensor path = whole(graph, {4, 6},
                      {0, 1, 1, 0, 1, 2, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 1, 1});
  auto [labels, lengths] = ctc_collapse(path, whole(graph, {4}, {6, 6, 6, 2}));
  EXPECT_THAT(values(lengths), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(values(labels), ElementsAre(1, 1, 2, -1, -1, -1, 3, -1, -1, -1, -1, -1,  //
                                          -1, -1, -1, -1, -1, -1, 2, 1, -1, -1, -1, -1));
}

TEST(CtcCollapse, TheBlankMayBeAnyClass) {
  Graph graph;
  Tensor path = whole(graph, {1, 5}, {0, 0, 2, 0, 1});
  auto [labels, lengths] = ctc_collapse(path, tensor(graph, {1}, {5}), 2);
  EXPECT_THAT(values(labels), ElementsAre(0, 0, 1, -1, -1));
  EXPECT_THAT(values(lengths), ElementsAre(3));
}

TEST(CtcGreedyDecode, ReadsTheBestPathOff) {
  Graph graph;
  Tensor logits = tensor<double>(graph, {1, 4, 3}, {1, 5, 2, 0, 9, 3, 4, 2, 4, -3, 1, 0});
  auto decode = [&](std::int64_t blank) {
    return values(ctc_greedy_decode(logits, tensor(graph, {1}, {4}), {.blank = blank}).labels);
  };
  EXPECT_THAT(decode(0), ElementsAre(1, 1, -1, -1));  // the path is 1 1 0 1: of equals the first
  EXPECT_THAT(decode(1), ElementsAre(0, -1, -1, -1));
  EXPECT_THAT(decode(-1), ElementsAre(1, 0, 1, -1));
  EXPECT_THAT(decode(2), ElementsAre(1, 0, 1, -1));
}

// All paths one by one: the most probable is the one that is read.
TEST(CtcGreedyDecode, NoPathIsMoreProbable) {
  constexpr std::int64_t frames = 4, classes = 3;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Array x = noise({1, frames, classes}, seed).cast(DType::f64);
    Labels best;
    double highest = -inf;
    for (std::int64_t number = 0; number < 81; ++number) {
      double score = 0;
      Labels read;
      for (std::int64_t t = 0, rest = number, previous = 0; t < frames; ++t, rest /= classes) {
        std::int64_t k = rest % classes;
        score += x.at(t * classes + k);
        if (k != 0 && k != previous) read.push_back(k);
        previous = k;
      }
      if (score > highest) highest = score, best = read;
    }
    best.resize(frames, -1);
    Graph graph;
    auto decoded = ctc_greedy_decode(constant(graph, x), tensor(graph, {1}, {frames}));
    EXPECT_THAT(values(decoded.labels), ElementsAreArray(best));
  }
}

TEST(CtcGreedyDecode, TakesEmptyBatches) {
  Graph graph;
  auto none = ctc_greedy_decode(constant(graph, Array::zeros({0, 4, 3})),
                                constant(graph, Array::zeros({0}, DType::i64)));
  EXPECT_EQ(to_string(none.labels.type()), "i64[0, 4]");
  EXPECT_THAT(values(none.lengths), IsEmpty());
  auto silent = ctc_greedy_decode(constant(graph, Array::zeros({2, 0, 3})),
                                  constant(graph, Array::zeros({2}, DType::i32)));
  EXPECT_THAT(values(silent.lengths), ElementsAre(0, 0));
}

std::int64_t distance(Graph& graph, const Labels& truth, const Labels& hypothesis,
                      const EditDistanceOptions& options = {}) {
  auto row = [&](const Labels& x) {
    auto count = static_cast<std::int64_t>(x.size());
    return Sequences{whole(graph, {1, count}, x), whole(graph, {1}, {count})};
  };
  return static_cast<std::int64_t>(
      values(edit_distance(row(truth), row(hypothesis), options).distance)[0]);
}

Labels text(std::string_view characters) { return {characters.begin(), characters.end()}; }

TEST(EditDistance, OfTexts) {
  Graph graph;
  EXPECT_EQ(distance(graph, text("kitten"), text("sitting")), 3);
  EXPECT_EQ(distance(graph, text("sitting"), text("kitten")), 3);
  EXPECT_EQ(distance(graph, text("intention"), text("execution")), 5);
  EXPECT_EQ(distance(graph, text("three"), text("three")), 0);
  EXPECT_EQ(distance(graph, text("three"), text("tree")), 1);
  EXPECT_EQ(distance(graph, text("three"), text("threes")), 1);
  EXPECT_EQ(distance(graph, text("one"), {}), 3);
  EXPECT_EQ(distance(graph, {}, text("one")), 3);
  EXPECT_EQ(distance(graph, {}, {}), 0);
  EXPECT_EQ(distance(graph, text("ab"), text("ba")), 2);
}

/// By its definition: what is done about the two first labels, and the rest.
std::int64_t by_definition(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  if (a.empty() || b.empty()) return static_cast<std::int64_t>(a.size() + b.size());
  auto rest_a = a.subspan(1), rest_b = b.subspan(1);
  return std::min({by_definition(rest_a, rest_b) + (a[0] == b[0] ? 0 : 1),
                   by_definition(rest_a, b) + 1, by_definition(a, rest_b) + 1});
}

TEST(EditDistance, AgreesWithItsDefinitionInEveryRow) {
  constexpr std::int64_t rows = 40;
  Array truth = labels_below(3, {rows, 6}, 1), hypothesis = labels_below(3, {rows, 5}, 2);
  Array truth_lengths = labels_below(7, {rows}, 3), lengths = labels_below(6, {rows}, 4);
  std::vector<double> wanted;
  for (std::int64_t r = 0; r < rows; ++r) {
    auto row = [&](const Array& labels, const Array& counts) {
      Array x = labels.row(r);
      return Labels(x.span<std::int64_t>().begin(),
                    x.span<std::int64_t>().begin() + static_cast<std::int64_t>(counts.at(r)));
    };
    wanted.push_back(
        static_cast<double>(by_definition(row(truth, truth_lengths), row(hypothesis, lengths))));
  }
  Graph graph;
  auto c = [&](const Array& x) { return constant(graph, x); };
  auto got = edit_distance({c(truth), c(truth_lengths)}, {c(hypothesis), c(lengths)});
  EXPECT_THAT(values(got.distance), ElementsAreArray(wanted));
  EXPECT_THAT(values(got.length), ElementsAreArray(values(c(truth_lengths))));
}

TEST(EditDistance, OfWords) {
  Graph graph;
  EditDistanceOptions words{.words = true, .separator = ' '};
  auto d = [&](std::string_view a, std::string_view b) {
    return distance(graph, text(a), text(b), words);
  };
  EXPECT_EQ(d("one two three", "one two three"), 0);
  EXPECT_EQ(d("one two three", "one too three"), 1);
  EXPECT_EQ(d("one two three", "two three"), 1);
  EXPECT_EQ(d("one two three", "three two one"), 2);
  EXPECT_EQ(d("one two", "onetwo"), 2);
  EXPECT_EQ(d("  one   two ", "one two"), 0);
  EXPECT_EQ(d("one", "ones"), 1);
  EXPECT_EQ(d(" ", ""), 0);
  Sequences truth{whole(graph, {1, 9}, text(" one  two")), whole(graph, {1}, {9})};
  EXPECT_THAT(values(edit_distance(truth, truth, words).length), ElementsAre(2));
  EXPECT_THAT(values(edit_distance(truth, truth, {.words = true}).length), ElementsAre(1));
}

TEST(Sequences, EveryKernelAgrees) {
  for (auto [rows, max_length, other] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {5, 7, 4}, {300, 3, 6}, {3, 0, 4}, {0, 3, 3}})
    for (const EditDistanceOptions& o :
         std::vector<EditDistanceOptions>{{}, {.words = true, .separator = 2}, {.words = true}})
      EXPECT_EQ(check_op({.build = [o = o](const Scope&, auto x) -> std::vector<Tensor> {
                            auto d = edit_distance({x[0], x[1]}, {x[2], x[3]}, o);
                            auto c = ctc_collapse(x[2], x[3], 1);
                            return {d.distance, d.length, c.labels, c.lengths};
                          },
                          .inputs = {labels_below(4, {rows, max_length}, 1),
                                     labels_below(max_length + 1, {rows}, 2),
                                     labels_below(4, {rows, other}, 3),
                                     labels_below(other + 1, {rows}, 4)},
                          .gradient = false}),
                "")
          << rows << " x " << max_length << ", " << other;
}

TEST(Sequences, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Scope s = Scope(graph) / "decode";
  Graph::PlacementGuard guard(graph, s.placement());
  Tensor labels = whole(graph, {2, 3}, {1, 2, 1, 2, 1, 2}), lengths = whole(graph, {2}, {3, 2});
  Tensor logits = constant(s, Array::zeros({2, 3, 4}));
  auto distance_error = [&](Sequences a, Sequences b) {
    return error_of([&] { edit_distance(a, b); });
  };
  Sequences good{labels, lengths};
  EXPECT_EQ(distance_error(good, {cast(labels, DType::f32), lengths}),
            "edit_distance: hypothesis must be i32 or i64, got f32[2, 3]; cast them (at decode)");
  EXPECT_EQ(distance_error({lengths, lengths}, good),
            "edit_distance: truth must be [n, l], got i64[2] (at decode)");
  EXPECT_EQ(distance_error({labels, labels}, good),
            "edit_distance: the lengths of truth must be [2], one for each row of i64[2, 3], got "
            "i64[2, 3] (at decode)");
  EXPECT_EQ(distance_error(good, {labels, Tensor()}),
            "edit_distance: hypothesis or its lengths are undefined");
  EXPECT_EQ(
      distance_error({whole(graph, {1, 2}, {1, 1}), whole(graph, {1}, {2})}, good),
      "edit_distance: truth i64[1, 2] and hypothesis i64[2, 3] have 1 and 2 rows (at decode)");
  EXPECT_EQ(error_of([&] { ctc_greedy_decode(labels, lengths); }),
            "ctc_greedy_decode: logits must be floating, got i64[2, 3]; cast it (at decode)");
  EXPECT_EQ(error_of([&] { ctc_greedy_decode(logits, lengths, {.blank = 4}); }),
            "ctc_greedy_decode: blank 4 is not a class of logits f32[2, 3, 4] (at decode)");
  auto bad = whole(graph, {2}, {3, 4});
  EXPECT_THAT(
      error_of([&] {
        values(edit_distance(good, {labels, bad}).distance);
      }),
      HasSubstr("edit_distance: length 4 of hypothesis at row 1 is outside 0..3; it counts"));
  EXPECT_THAT(error_of([&] { values(ctc_greedy_decode(logits, bad).labels); }),
              HasSubstr("ctc_collapse: length 4 of path at row 1 is outside 0..3; it counts"));
}

}  // namespace
}  // namespace belfry::testing
