// Covers attention.cpp, dot_product_attention.cpp and dot_product_attention_grad.cpp.
#include "belfry/framework/ops/attention/attention.h"

#include <cmath>

#include "../support.h"

namespace belfry::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Options = DotProductAttentionOptions;

/// sin(start), sin(start + 0.7), ..., which a peer program can write down as well.
Array wave(const Shape& shape, double start) {
  Array out(shape, DType::f64);
  double i = 0;
  for (double& x : out.span<double>()) x = std::sin(start + 0.7 * i++);
  return out;
}

Tensor digest(Tensor x, double start) {
  return sum(x * constant(x.graph(), wave(x.shape(), start)));
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o = {}) {
  return scaled_dot_product_attention(Scope(q.graph()), q, k, v, o);
}

// ---- PyTorch's numbers

/// Digests of the result and of its gradients, for four heads that share two of keys and values.
std::vector<double> digests(Graph& graph, const Options& o) {
  Tensor q = constant(graph, wave({2, 3, 4, 2}, 0)), k = constant(graph, wave({2, 4, 2, 2}, 1)),
         v = constant(graph, wave({2, 4, 2, 3}, 2));
  Tensor loss = digest(attend(q, k, v, o), 0.3);
  std::vector<double> out{values(loss)[0]};
  for (const Tensor& slope : gradients(loss, {{q, k, v}}))
    out.push_back(values(digest(slope, 0.5))[0]);
  return out;
}

// By PyTorch 2's scaled_dot_product_attention in f64, with a mask in place of the other options.
TEST(Attention, IsPyTorchs) {
  Graph graph;
  auto near = [](std::vector<double> x) { return Pointwise(DoubleNear(1e-12), std::move(x)); };
  EXPECT_THAT(digests(graph, {}), near({-0.5406253261867453, -0.6602688443067719,
                                        -0.19223680644108626, 0.8959815611530271}));
  EXPECT_THAT(digests(graph, {.scale = 0.25}), near({-0.11568954395648975, -0.13474921275430557,
                                                     -0.005056358289817674, 0.30177572668517544}));
  EXPECT_THAT(digests(graph, {.causal = true}), near({0.8011012735635469, -0.018310894362860597,
                                                      1.1486553956929952, -0.4299343309022489}));
  EXPECT_THAT(digests(graph, {.window = 2}), near({1.2582322420623797, 0.46306762897660136,
                                                   0.9375912808271328, 1.4235263496732875}));
  EXPECT_THAT(
      digests(graph, {.causal = true, .window = 2}),
      near({2.6319942979462345, 0.46541125030018593, 1.3717931761965563, -0.9933856183019445}));
  EXPECT_THAT(
      digests(graph, {.lengths = tensor<std::int64_t>(graph, {2}, {4, 2})}),
      near({-0.6949044320442339, -0.26761120837542973, 0.843781595480478, -0.6161381959514896}));
  Tensor mask =
      greater(constant(graph, wave({1, 4, 3, 4}, 0.1)), constant(graph, -0.5, DType::f64));
  EXPECT_THAT(digests(graph, {.mask = mask}), near({1.2633814359217743, -0.358759950764254,
                                                    0.38954278117160046, 0.05380710869167804}));
}

// Ranges are what a mask with their keys is; ends outside 0..4 are 0 and 4.
TEST(Attention, KeyRangesAreAMask) {
  Graph graph;
  Tensor ranges = tensor<std::int64_t>(
      graph, {2, 3, 2},
      {0, 2, 1, 4, 2, 3, -5, 1, 2, 99, std::numeric_limits<std::int64_t>::min(),
       std::numeric_limits<std::int64_t>::max()});
  Array mask =
      Array::of({true, true,  false, false, false, true,  true, true, false, false, true, false,
                 true, false, false, false, false, false, true, true, true,  true,  true, true},
                {2, 1, 3, 4});
  auto near = [](std::vector<double> x) { return Pointwise(DoubleNear(1e-12), std::move(x)); };
  EXPECT_THAT(digests(graph, {.key_ranges = ranges}),
              near(digests(graph, {.mask = constant(graph, mask)})));
  EXPECT_THAT(digests(graph, {.causal = true, .key_ranges = ranges}),
              near(digests(graph, {.causal = true, .mask = constant(graph, mask)})));
  Tensor q = constant(graph, wave({2, 3, 1, 2}, 0)),
         none = tensor<std::int64_t>(graph, {2, 3, 2}, {2, 2, 3, 1, 9, 9, 0, 0, 0, -1, 3, 0});
  EXPECT_THAT(values(attend(q, q, q, {.key_ranges = none})), Each(0));
}

// ---- queries for which no key counts

TEST(Attention, OfNothingIsZero) {
  Graph graph;
  Tensor q = constant(graph, wave({2, 3, 1, 2}, 0)), k = constant(graph, wave({2, 2, 1, 2}, 1)),
         v = constant(graph, wave({2, 2, 1, 2}, 2));
  for (const Options& o :
       {Options{.lengths = tensor<std::int64_t>(graph, {2}, {2, 0})},
        Options{.mask = constant(graph, Array::of({true, false}, {2, 1, 1, 1}))}}) {
    Tensor y = attend(q, k, v, o);
    std::vector<double> all = values(y);
    EXPECT_THAT(std::vector(all.begin(), all.begin() + 6), Each(::testing::Ne(0)));
    EXPECT_THAT(std::vector(all.begin() + 6, all.end()), Each(0));
    for (const Tensor& slope : gradients(sum(square(y)), {{q, k, v}})) {
      std::vector<double> x = values(slope);
      EXPECT_THAT(std::vector(x.begin() + std::ssize(x) / 2, x.end()), Each(0));
    }
  }
  // More queries than keys: the first stands before all keys.
  EXPECT_THAT(values(slice(attend(q, k, v, {.causal = true}),
                           {.begin = {0, 0, 0, 0}, .size = {2, 1, 1, 2}})),
              Each(0));
}

// A NaN is never taken for a query without keys, and padding is not read, by fast kernels too.
TEST(Attention, NanIsSeenButForPadding) {
  Graph graph;
  auto fed = [&](const char* name) { return input(graph, name, {{1, 2, 1, 1}, DType::f32}); };
  Tensor q = fed("q"), k = fed("k"), v = fed("v");
  Tensor y = attend(q, k, v),
         padded = attend(q, k, v, {.lengths = tensor<std::int64_t>(graph, {1}, {1})});
  constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
  auto two = [](float a, float b) { return Array::of({a, b}, {1, 2, 1, 1}); };
  std::map<std::string, Array> given{{"q", two(nan32, 1)}, {"k", two(1, 2)}, {"v", two(3, 3)}};
  Array found = evaluate({y}, given)[0];
  EXPECT_TRUE(std::isnan(found.at(0)));
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(1)), 3);
  given = {{"q", two(1, 1)}, {"k", two(1, nan32)}, {"v", two(3, nan32)}};
  found = evaluate({padded}, given)[0];
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(0)), 3);
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(1)), 3);
}

// One key's NaN among finite scores, in the second tile of keys or in the first.
TEST(Attention, NanIsSeenInAnyTile) {
  constexpr std::int64_t keys = 130;
  for (std::int64_t at : {3, 70, 129}) {
    Graph graph;
    Tensor q = input(graph, "q", {{1, 1, 1, 1}, DType::f32}),
           k = input(graph, "k", {{1, keys, 1, 1}, DType::f32}),
           v = input(graph, "v", {{1, keys, 1, 1}, DType::f32});
    Tensor y = attend(q, k, v);
    std::vector<Tensor> all{y};
    for (const Tensor& slope : gradients(sum(y), std::vector{q, k, v})) all.push_back(slope);
    Array one = Array::zeros({1, 1, 1, 1}), many = Array::zeros({1, keys, 1, 1});
    one.span<float>()[0] = 1;
    Array with_nan = many.clone();
    with_nan.span<float>()[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
    for (const Array& found : evaluate(all, {{"q", one}, {"k", with_nan}, {"v", many}}))
      EXPECT_TRUE(std::isnan(found.at(0))) << at;
  }
}

TEST(Attention, AWindowMayBeEndless) {
  Graph graph;
  Tensor q = constant(graph, wave({1, 3, 1, 2}, 0));
  Options all, endless{.window = std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(values(attend(q, q, q, endless)), values(attend(q, q, q, all)));
}

// ---- dropout

TEST(Attention, DropoutDividesWhatStays) {
  Graph graph;
  constexpr std::int64_t n = 2, t = 64, heads = 3;
  // Equal weights of ones: y is the fraction that stays over its expectation.
  Tensor q = constant(graph, Array::zeros({n, t, heads, 1}, DType::f64));
  Tensor ones = constant(graph, Array::of({1.0}, {1}));
  Tensor v = broadcast_to(reshape(ones, {1, 1, 1, 1}), {n, t, heads, 1});
  Tensor y = attend(q, q, v, {.dropout = 0.25f, .training = true});
  std::vector<double> all = values(y);
  double mean = 0;
  for (double x : all) {
    mean += x / static_cast<double>(all.size());
    double stays = x * 0.75 * t;
    EXPECT_NEAR(stays, std::round(stays), 1e-9);
  }
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_THAT(values(attend(q, q, v, {.dropout = 0.25f})), Each(DoubleNear(1, 1e-12)));
}

// ---- the check of all ops

struct Form {
  std::int64_t n, tq, tk, heads, kv_heads, d, e;
  Options options = {};
  bool lengths = false, mask = false, key_ranges = false;
};

void check_form(const Form& f) {
  OpCheck check;
  check.inputs = {noise({f.n, f.tq, f.heads, f.d}, 1), noise({f.n, f.tk, f.kv_heads, f.d}, 2),
                  noise({f.n, f.tk, f.kv_heads, f.e}, 3)};
  Array lengths(Shape{f.n}, DType::i64), mask(Shape{1, f.heads, 1, f.tk}, DType::boolean);
  for (std::int64_t row = 0; row < f.n; ++row)
    lengths.span<std::int64_t>()[row] = (f.tk + row) % (f.tk + 1);
  std::int64_t i = 0;
  for (bool& m : mask.span<bool>()) m = i++ % 3 != 1;
  check.inputs.push_back(lengths);
  check.inputs.push_back(mask);
  Array ranges(Shape{f.n, f.tq, 2}, DType::i64);  // neither end rises with the query
  i = 0;
  for (std::int64_t& end : ranges.span<std::int64_t>())
    end = i % 2 == 0 ? i * 5 % (f.tk + 1) - 1 : f.tk + 1 - i * 3 % (f.tk + 1), ++i;
  check.inputs.push_back(ranges);
  check.build = [&](const Scope& s, std::span<const Tensor> in) -> std::vector<Tensor> {
    Options o = f.options;
    if (f.lengths) o.lengths = in[3];
    if (f.mask) o.mask = in[4];
    if (f.key_ranges) o.key_ranges = in[5];
    return {scaled_dot_product_attention(s, in[0], in[1], in[2], o)};
  };
  check.rounding = 128;
  EXPECT_EQ(check_op(check), "") << f.n << " x " << f.tq << " x " << f.tk << ", " << f.heads
                                 << " heads of " << f.d;
}

// Sizes on both sides of a tile of 48 queries by 64 keys, of panels of 16, and of 128 threads.
TEST(Attention, PassesCheckOp) {
  for (const Form& f : {Form{2, 3, 4, 2, 1, 5, 3},
                        Form{2, 5, 5, 2, 2, 4, 4, {.causal = true}},
                        Form{1, 50, 9, 1, 1, 3, 2, {.causal = true}},
                        Form{1, 3, 5, 2, 2, 16, 17, {.causal = true}},
                        Form{2, 9, 7, 4, 2, 2, 2, {.window = 3}, true},
                        Form{2, 4, 18, 2, 2, 3, 3, {}, false, true},
                        Form{2, 6, 6, 2, 1, 3, 3, {.causal = true, .window = 4}, true, true},
                        Form{2, 7, 9, 2, 1, 3, 2, {.causal = true}, false, false, true},
                        Form{2, 5, 6, 2, 1, 2, 2, {.window = 3}, true, true, true},
                        Form{1, 3, 530, 1, 1, 2, 2, {}, false, false, true},
                        Form{1, 2, 270, 2, 1, 2, 2},
                        Form{1, 2, 63, 1, 1, 2, 2},
                        Form{1, 2, 64, 1, 1, 2, 2},
                        Form{1, 70, 65, 1, 1, 2, 2, {.causal = true}},
                        Form{1, 3, 129, 1, 1, 2, 2, {}, true},
                        Form{1, 4, 300, 1, 1, 2, 2, {.causal = true, .window = 5}},
                        Form{1, 2, 3, 1, 1, 140, 3},
                        Form{1, 2, 3, 1, 1, 3, 140},
                        Form{0, 3, 3, 1, 1, 2, 2},
                        Form{2, 0, 3, 1, 1, 2, 2},
                        Form{1, 2, 0, 1, 1, 2, 2}})
    check_form(f);
}

TEST(Attention, DropoutPassesCheckOp) {
  check_form({2, 5, 6, 2, 1, 3, 3, {.dropout = 0.4f, .training = true}});
  check_form({1, 2, 260, 1, 1, 2, 2, {.causal = true, .dropout = 0.4f, .training = true}});
}

// ---- errors

TEST(Attention, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor q = constant(graph, Array::zeros({2, 3, 4, 8})),
         k = constant(graph, Array::zeros({2, 5, 2, 8}));
  auto error = [&](Tensor a, Tensor b, Tensor c, const Options& o = {}) {
    return error_of([&] { attend(a, b, c, o); });
  };
  EXPECT_EQ(error(q, k, k), "no error");
  EXPECT_THAT(error(reshape(q, {2, 3, 32}), k, k),
              HasSubstr("dot_product_attention: q must be [n, t, heads, d], got f32[2, 3, 32]"));
  EXPECT_THAT(error(q, q, k), HasSubstr("dot_product_attention: k must be f32[2, 5, 2, 8], got"));
  Tensor three = constant(graph, Array::zeros({2, 5, 3, 8}));
  EXPECT_THAT(error(q, three, three),
              HasSubstr("4 heads of q f32[2, 3, 4, 8] must be a multiple of "
                        "the 3 of v f32[2, 5, 3, 8]"));
  EXPECT_THAT(error(q, k, k, {.window = -1}), HasSubstr("a window of -1; expected at least 0"));
  EXPECT_THAT(error(q, k, k, {.dropout = 1}), HasSubstr("dropout must be in [0, 1), got 1"));
  EXPECT_THAT(error(q, k, k, {.mask = k}), HasSubstr("the mask must be bool, got f32[2, 5, 2, 8]"));
  EXPECT_THAT(error(q, k, k, {.mask = constant(graph, Array::of({true, true}, {1, 1, 1, 2}))}),
              HasSubstr("mask bool[1, 1, 1, 2] must be [2, 4, 3, 5] or 1 along an axis"));
  EXPECT_THAT(error(q, k, k, {.lengths = k}), HasSubstr("lengths must be i32 or i64; cast them"));
  EXPECT_THAT(error(q, k, k, {.key_ranges = k}), HasSubstr("key_ranges must be i32 or i64; cast"));
  EXPECT_THAT(error(q, k, k, {.key_ranges = tensor<std::int64_t>(graph, {2}, {5, 5})}),
              HasSubstr("dot_product_attention: key_ranges must be i64[2, 3, 2], got i64[2]"));
  EXPECT_THAT(error_of([&] {
                values(attend(q, k, k, {.lengths = tensor<std::int64_t>(graph, {2}, {5, 6})}));
              }),
              HasSubstr("dot_product_attention: length 6 at row 1 is outside 0..5; it counts"));
}

}  // namespace
}  // namespace belfry::testing
