// Covers ctc_loss.cpp, ctc_loss_grad.cpp and ctc_rows.cpp.
#include <cmath>
#include <limits>

#include "../support.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;

using Labels = std::vector<std::int64_t>;

Tensor whole(Graph& graph, const Shape& shape, const Labels& elements) {
  return constant(graph, Array::of(std::span<const std::int64_t>(elements), shape));
}

/// One row, all of which counts.
Tensor row_loss(Tensor logits, const Labels& labels, CtcOptions options = {}) {
  Graph& graph = logits.graph();
  auto count = static_cast<std::int64_t>(labels.size());
  return ctc_loss(logits, whole(graph, {1, count}, labels), whole(graph, {1}, {logits.size(1)}),
                  whole(graph, {1}, {count}), options);
}

auto near(std::vector<double> expected, double tolerance = 1e-12) {
  return Pointwise(::testing::DoubleNear(tolerance), std::move(expected));
}

// ---- all paths one by one

struct Enumerated {
  double probability = 0;
  std::vector<double> posterior;  // [t, classes]
};

Labels read_off(const Labels& path, std::int64_t blank) {
  Labels out;
  for (std::size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) out.push_back(path[t]);
  return out;
}

std::vector<double> softmax_of(const std::vector<double>& logits, std::size_t classes) {
  std::vector<double> p;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(logits[i / classes * classes + k]);
    p.push_back(std::exp(logits[i]) / sum);
  }
  return p;
}

Enumerated enumerate(const std::vector<double>& p, std::size_t classes, const Labels& labels,
                     std::int64_t blank) {
  std::size_t frames = p.size() / classes;
  Enumerated out{.posterior = std::vector<double>(p.size())};
  Labels path(frames);
  for (;;) {
    if (read_off(path, blank) == labels) {
      double probability = 1;
      for (std::size_t t = 0; t < frames; ++t)
        probability *= p[t * classes + static_cast<std::size_t>(path[t])];
      out.probability += probability;
      for (std::size_t t = 0; t < frames; ++t)
        out.posterior[t * classes + static_cast<std::size_t>(path[t])] += probability;
    }
    std::size_t t = 0;
    while (t < frames && ++path[t] == static_cast<std::int64_t>(classes)) path[t++] = 0;
    if (t == frames) break;
  }
  for (double& x : out.posterior) x /= out.probability;
  return out;
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  struct Case {
    std::int64_t frames, classes, blank;
    Labels labels;
  };
  for (const Case& c : std::vector<Case>{{1, 2, 0, {1}},
                                         {5, 3, 0, {1, 2}},
                                         {5, 3, 0, {2, 2}},
                                         {6, 3, 0, {1, 1, 2}},
                                         {6, 3, 2, {0, 1, 0}},
                                         {5, 4, 1, {3, 0, 0}},
                                         {5, 4, 3, {1, 1, 1}},
                                         {7, 3, 0, {1, 2, 1, 2}},
                                         {4, 4, 0, {}},
                                         {6, 2, 1, {0, 0}},
                                         {4, 5, 0, {4, 3, 2, 1}}}) {
    SCOPED_TRACE(::testing::PrintToString(c.labels));
    Graph graph;
    Array x = noise({1, c.frames, c.classes}, 5).cast(DType::f64);
    Tensor logits = constant(graph, x);
    Tensor loss = row_loss(logits, c.labels, {.blank = c.blank});
    auto classes = static_cast<std::size_t>(c.classes);
    std::vector<double> p = softmax_of(values(logits), classes);
    Enumerated wanted = enumerate(p, classes, c.labels, c.blank);
    EXPECT_THAT(values(loss), near({-std::log(wanted.probability)}));
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = 3 * (p[i] - wanted.posterior[i]);
    EXPECT_THAT(slope(loss * 3, logits), near(p));
  }
}

// ---- closed forms

TEST(CtcLoss, OneFrameIsACrossEntropy) {
  Graph graph;
  Tensor logits = tensor(graph, {1, 1, 3}, {0.0, std::log(2.0), std::log(5.0)});
  Tensor loss = row_loss(logits, {2});
  EXPECT_THAT(values(loss), near({std::log(8 / 5.0)}));
  EXPECT_THAT(slope(loss, logits), near({0.125, 0.25, 0.625 - 1}));
}

TEST(CtcLoss, NoLabelsAreAllBlanks) {
  Graph graph;
  Tensor logits = tensor(graph, {1, 2, 2}, {0.0, std::log(3.0), 0.0, 0.0});
  EXPECT_THAT(values(row_loss(logits, {})), near({std::log(4.0) + std::log(2.0)}));
  EXPECT_THAT(slope(row_loss(logits, {}), logits), near({-0.75, 0.75, -0.5, 0.5}));
}

// With one label more than `repeats` neighbours that are equal, binomial(t + l - repeats, 2 l) of
// classes^t paths read as the labels.
TEST(CtcLoss, UniformLogitsCountPaths) {
  Graph graph;
  Tensor logits = constant(graph, Array::zeros({1, 4, 5}, DType::f64));
  double all = std::log(625.0);
  EXPECT_THAT(values(row_loss(logits, {3})), near({all - std::log(10.0)}));
  EXPECT_THAT(values(row_loss(logits, {3, 1})), near({all - std::log(15.0)}));
  EXPECT_THAT(values(row_loss(logits, {3, 3})), near({all - std::log(5.0)}));
  EXPECT_THAT(values(row_loss(logits, {3, 1, 2, 3})), near({all}));
}

// ---- rows of different lengths

TEST(CtcLoss, PaddingIsNotRead) {
  constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
  Graph graph;
  Tensor logits = floats(graph, {3, 2, 2}, {0, 0, nan32, nan32, 0, 0, 0, 0, nan32, 0, 0, 0});
  Tensor loss = ctc_loss(logits, whole(graph, {3, 3}, {1, -1, 99, 1, 0, 0, -5, -5, -5}),
                         whole(graph, {3}, {1, 2, 0}), whole(graph, {3}, {1, 1, 0}));
  double two = std::log(2.0), third = 1 / 3.0;
  EXPECT_THAT(values(loss), near({two, std::log(4 / 3.0), 0}, 1e-6));
  // Two of the three paths of row 1 have the label in each frame.
  EXPECT_THAT(slope(loss, logits), near({0.5, -0.5, 0, 0, 0.5 - third, third - 0.5, 0.5 - third,
                                         third - 0.5, 0, 0, 0, 0},
                                        1e-6));
}

TEST(CtcLoss, RowsDoNotMix) {
  Graph graph;
  Array x = noise({3, 6, 4}, 9).cast(DType::f64);
  Tensor logits = constant(graph, x);
  Tensor together = ctc_loss(logits, whole(graph, {3, 3}, {1, 1, 2, 3, 0, 0, 2, 1, 0}),
                             whole(graph, {3}, {6, 2, 4}), whole(graph, {3}, {3, 1, 2}));
  auto alone = [&](std::int64_t row, std::int64_t frames, const Labels& labels) {
    Tensor part = slice(logits, {.begin = {row, 0, 0}, .size = {1, frames, 4}});
    return values(row_loss(part, labels))[0];
  };
  EXPECT_THAT(values(together),
              ElementsAre(alone(0, 6, {1, 1, 2}), alone(1, 2, {3}), alone(2, 4, {2, 1})));
}

TEST(CtcLoss, NothingAtAll) {
  Graph graph;
  auto empty = [&](const Shape& logits, std::int64_t max_length) {
    std::int64_t n = logits[0];
    Labels zeros(static_cast<std::size_t>(n));
    Tensor x = constant(graph, Array::zeros(logits));
    Tensor loss = ctc_loss(x, whole(graph, {n, max_length}, Labels(zeros.size() * 2)),
                           whole(graph, {n}, zeros), whole(graph, {n}, zeros));
    EXPECT_EQ(gradients(sum(loss), {&x, 1})[0].shape(), logits);
    EXPECT_THAT(slope(loss, x), Each(0));
    return values(loss);
  };
  EXPECT_THAT(empty({0, 3, 4}, 2), IsEmpty());
  EXPECT_THAT(empty({2, 0, 4}, 2), ElementsAre(0, 0));
  EXPECT_THAT(empty({2, 3, 4}, 2), ElementsAre(0, 0));
}

// ---- numbers at the edge

TEST(CtcLoss, HugeLogitsAreExact) {
  Graph graph;
  // The label is as unlikely as can be: two paths have it once, the one that has it twice is lost.
  Tensor logits = floats(graph, {1, 2, 2}, {1e4f, -1e4f, 1e4f, -1e4f});
  EXPECT_THAT(values(row_loss(logits, {1})), near({2e4 - std::log(2.0)}, 1e-3));
  EXPECT_THAT(slope(row_loss(logits, {1}), logits), near({0.5, -0.5, 0.5, -0.5}, 1e-6));
  EXPECT_THAT(values(row_loss(logits, {})), ElementsAre(0));
  EXPECT_THAT(slope(row_loss(logits, {}), logits), Each(0));
}

TEST(CtcLoss, NanStaysInItsRow) {
  Graph graph;
  Tensor logits = tensor(graph, {2, 2, 2}, {0.0, 0.0, 0.0, nan, 0.0, 0.0, 0.0, 0.0});
  for (bool zero_infinity : {false, true}) {
    Tensor loss = ctc_loss(logits, whole(graph, {2, 1}, {1, 1}), whole(graph, {2}, {2, 2}),
                           whole(graph, {2}, {1, 1}), {.zero_infinity = zero_infinity});
    EXPECT_THAT(values(loss), ElementsAre(IsNan(), DoubleNear(std::log(4 / 3.0), 1e-12)));
    std::vector<double> dx = slope(loss, logits);
    EXPECT_THAT(std::vector(dx.begin(), dx.begin() + 4), Each(IsNan()));
    EXPECT_THAT(std::vector(dx.begin() + 4, dx.end()), Each(::testing::Not(IsNan())));
  }
}

TEST(CtcLoss, LossOf16BitLogitsIsF32) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Graph graph;
    Tensor logits = cast(tensor(graph, {1, 2, 2}, {0.0, 0.0, 0.0, 0.0}), dtype);
    Tensor loss = row_loss(logits, {1});
    EXPECT_EQ(loss.dtype(), DType::f32);
    EXPECT_THAT(values(loss), ElementsAre(static_cast<float>(std::log(4 / 3.0))));
    Tensor dx = gradients(sum(loss), {&logits, 1})[0];
    EXPECT_EQ(dx.dtype(), dtype);
    EXPECT_THAT(values(dx), near({1 / 6.0, -1 / 6.0, 1 / 6.0, -1 / 6.0}, 1e-3));
  }
}

TEST(CtcLoss, ImpossibleLabelsAreInfiniteOrZero) {
  Graph graph;
  Tensor logits = tensor(graph, {1, 2, 3}, {0.0, 0.0, -inf, 0.0, 0.0, -inf});
  EXPECT_THAT(values(row_loss(logits, {2})), ElementsAre(inf));
  EXPECT_THAT(slope(row_loss(logits, {2}), logits)[0], IsNan());
  EXPECT_THAT(values(row_loss(logits, {1})), near({std::log(4 / 3.0)}));
  CtcOptions zero{.zero_infinity = true};
  EXPECT_THAT(values(row_loss(logits, {2}, zero)), ElementsAre(0));
  EXPECT_THAT(slope(row_loss(logits, {2}, zero), logits), Each(0));
  EXPECT_THAT(values(row_loss(logits, {1}, zero)), near({std::log(4 / 3.0)}));
}

TEST(CtcLoss, LabelsThatDoNotFitMayCountZero) {
  Graph graph;
  Tensor logits = constant(graph, noise({2, 3, 3}));
  auto loss = [&](const Labels& labels) {
    return ctc_loss(logits, whole(graph, {2, 3}, labels), whole(graph, {2}, {3, 3}),
                    whole(graph, {2}, {3, 3}), {.zero_infinity = true});
  };
  Tensor y = loss({1, 1, 2, 1, 2, 1});
  EXPECT_EQ(values(y)[0], 0);
  EXPECT_GT(values(y)[1], 0);
  std::vector<double> dx = slope(y, logits);
  EXPECT_THAT(std::vector(dx.begin(), dx.begin() + 9), Each(0));
  EXPECT_THAT(std::vector(dx.begin() + 9, dx.end()), Each(::testing::Ne(0)));
}

// ---- the check of all ops

TEST(CtcLoss, PassesCheckOp) {
  struct Case {
    std::int64_t n, frames, classes, max_length, blank;
  };
  for (const Case& c : {Case{4, 7, 5, 3, 0}, Case{3, 6, 3, 2, -1}, Case{2, 9, 4, 4, 1},
                        Case{3, 4, 2, 0, 0}, Case{0, 4, 3, 2, 0}, Case{2, 0, 3, 0, 0}}) {
    for (DType dtype : {DType::i32, DType::i64}) {
      SCOPED_TRACE(concat(c.frames, " frames, ", c.max_length, " labels"));
      std::int64_t blank = c.blank < 0 ? c.blank + c.classes : c.blank, next = 0;
      Array labels(Shape{c.n, c.max_length}, DType::i64), frames(Shape{c.n}, DType::i64),
          counts(Shape{c.n}, DType::i64);
      // Neighbours are equal now and then.
      for (std::int64_t& l : labels.span<std::int64_t>())
        l = (blank + 1 + next++ / 2 % (c.classes - 1)) % c.classes;
      next = 0;
      for (std::int64_t& f : frames.span<std::int64_t>())
        f = c.frames - (c.frames ? next++ % 2 : 0);
      next = 0;
      for (std::int64_t& l : counts.span<std::int64_t>())
        l = c.max_length - (c.max_length ? next++ % 3 : 0);
      auto build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
        return {ctc_loss(in[0], in[1], in[2], in[3], {.blank = c.blank})};
      };
      EXPECT_EQ(check_op({.build = build,
                          .inputs = {noise({c.n, c.frames, c.classes}), labels.cast(dtype),
                                     frames.cast(dtype), counts.cast(dtype)}}),
                "");
    }
  }
}

// ---- errors

TEST(CtcLoss, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 4, 3}));
  Tensor labels = whole(graph, {2, 3}, {1, 2, 1, 2, 1, 2}), lengths = whole(graph, {2}, {3, 3});
  auto error = [&](Tensor a, Tensor b, Tensor c, Tensor d, CtcOptions o = {}) {
    return error_of([&] { ctc_loss(a, b, c, d, o); });
  };
  EXPECT_EQ(error(cast(x, DType::i32), labels, lengths, lengths),
            "ctc_loss: logits must be floating, got i32[2, 4, 3]; cast it");
  EXPECT_EQ(error(reshape(x, {8, 3}), labels, lengths, lengths),
            "ctc_loss: logits must be [n, t, classes], got f32[8, 3]");
  EXPECT_EQ(error(x, lengths, lengths, lengths), "ctc_loss: labels must be [n, l], got i64[2]");
  EXPECT_EQ(error(x, whole(graph, {1, 2}, {1, 2}), lengths, lengths),
            "ctc_loss: labels i64[1, 2] must have a row for each of the 2 of logits f32[2, 4, 3]");
  EXPECT_EQ(error(x, cast(labels, DType::f32), lengths, lengths),
            "ctc_loss: labels must be i32 or i64, got f32[2, 3]; cast them");
  EXPECT_EQ(error(x, labels, whole(graph, {1}, {4}), lengths),
            "ctc_loss: logit_lengths must be [2], one for each row of logits f32[2, 4, 3], got "
            "i64[1]");
  EXPECT_EQ(error(x, labels, lengths, cast(lengths, DType::f64)),
            "ctc_loss: label_lengths must be i32 or i64, got f64[2]; cast them");
  for (std::int64_t blank : {3, -4})
    EXPECT_EQ(error(x, labels, lengths, lengths, {.blank = blank}),
              concat("ctc_loss: blank ", blank, " is not a class of logits f32[2, 4, 3]"));
  EXPECT_EQ(error(x, cast(lengths, DType::i32), lengths, lengths),
            "ctc_loss: labels must be [n, l], got i32[2]");
  EXPECT_EQ(error(x, labels, Tensor(), lengths), "ctc_loss: input 2, logit_lengths, is undefined");
}

TEST(CtcLoss, BadRowsAreNamed) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 4, 3}));
  auto run = [&](const Labels& labels, const Labels& frames, const Labels& counts) {
    return error_of([&] {
      values(ctc_loss(x, whole(graph, {2, 3}, labels), whole(graph, {2}, frames),
                      whole(graph, {2}, counts)));
    });
  };
  Labels good = {1, 2, 1, 2, 1, 2};
  EXPECT_EQ(run(good, {4, 3}, {3, 3}), "no error");
  EXPECT_EQ(run({1, 3, 1, 2, 1, 2}, {4, 4}, {3, 3}),
            "ctc_loss: label 3 at row 0, position 1 is outside 0..2");
  EXPECT_THAT(run(good, {4, 5}, {3, 3}),
              HasSubstr("ctc_loss: logit length 5 at row 1 is outside 0..4; it counts"));
  EXPECT_THAT(run(good, {-1, 4}, {3, 3}),
              HasSubstr("ctc_loss: logit length -1 at row 0 is outside 0..4; it counts"));
  EXPECT_THAT(run(good, {4, 4}, {3, 4}),
              HasSubstr("ctc_loss: label length 4 at row 1 is outside 0..3; it counts"));
  EXPECT_THAT(run(good, {4, 4}, {-1, 3}),
              HasSubstr("ctc_loss: label length -1 at row 0 is outside 0..3; it counts"));
  EXPECT_THAT(run({1, 2, 1, 2, 3, 2}, {4, 4}, {3, 3}),
              HasSubstr("ctc_loss: label 3 at row 1, position 1 is outside 0..2"));
  EXPECT_THAT(run({1, 2, -1, 2, 1, 2}, {4, 4}, {3, 3}),
              HasSubstr("ctc_loss: label -1 at row 0, position 2 is outside 0..2"));
  EXPECT_THAT(run({1, 0, 1, 2, 1, 2}, {4, 4}, {3, 3}),
              HasSubstr("ctc_loss: label 0 at row 0, position 1 is the blank; labels go without"));
  EXPECT_THAT(run({1, 2, 1, 2, 2, 1}, {4, 3}, {3, 3}),
              HasSubstr("ctc_loss: the 3 labels at row 1 need at least 4 frames but its logit "
                        "length is 3 (one for each label and one more between equal neighbours); "
                        "leave such rows out"));
}

TEST(CtcLoss, HasNoSecondDerivative) {
  Graph graph;
  Tensor logits = constant(graph, noise({1, 2, 2}));
  Tensor dx = gradients(sum(row_loss(logits, {1})), {&logits, 1})[0];
  EXPECT_THAT(error_of([&] {
                gradients(sum(square(dx)), {&logits, 1});
              }),
              HasSubstr("has no gradient"));
}

}  // namespace
}  // namespace belfry::testing
