#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/autocast.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

// The expected values of width 4 and two heads are those of PyTorch 2's MultiheadAttention in f64,
// with these weights (its matrices are these, transposed).
const std::map<std::string, Array> weights{
    {"a/query/kernel", wave({4, 4}, 1)},  {"a/query/bias", wave({4}, 10, 0.5)},
    {"a/key/kernel", wave({4, 4}, 2)},    {"a/key/bias", wave({4}, 20, 0.5)},
    {"a/value/kernel", wave({4, 4}, 3)},  {"a/value/bias", wave({4}, 30, 0.5)},
    {"a/output/kernel", wave({4, 4}, 4)}, {"a/output/bias", wave({4}, 40, 0.5)}};
const Shape two_rows{2, 3, 4};

auto near(std::vector<double> expected) {
  return ::testing::Pointwise(::testing::DoubleNear(1e-11), expected);
}

TEST(MultiHeadAttention, OfARowWithItself) {
  Graph graph;
  Tensor x = constant(graph, wave(two_rows, 0));
  Tensor y = multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 2});
  EXPECT_EQ(to_string(y.type()), "f64[2, 3, 4]");
  EXPECT_THAT(
      values(y, weights),
      near({0.681176788824,  0.701512576242,  0.391916037618,  -0.102004737355, 0.580598710174,
            0.554217210577,  0.267178696963,  -0.145518132615, 0.717646098277,  0.756697196083,
            0.439861778850,  -0.083847506005, 0.427247108250,  0.197969241932,  -0.124416652222,
            -0.388287450771, 0.805428264290,  0.709587874453,  0.280017219644,  -0.281249908953,
            0.445886185819,  0.217069288629,  -0.113838686805, -0.391206549055}));
}

TEST(MultiHeadAttention, OfOtherQueries) {
  Graph graph;
  Tensor x = constant(graph, wave(two_rows, 0)), q = constant(graph, wave({2, 2, 4}, 5));
  EXPECT_THAT(values(multi_head_attention(Scope(graph) / "a", q, x, x, {.heads = 2}), weights),
              near({0.725997829302, 0.769246242439, 0.450706127954, -0.079808120986, 0.540148449511,
                    0.499242215966, 0.223534567377, -0.157304881073, 0.761231451107, 0.654581151375,
                    0.240071108040, -0.287348128622, 0.524492404810, 0.319555721777,
                    -0.035673010404, -0.374124168386}));
}

// The first row sees all of itself; every query of the second takes its only value.
TEST(MultiHeadAttention, PaddingIsNotLookedAt) {
  Graph graph;
  Tensor x = constant(graph, wave(two_rows, 0));
  Tensor mask = padding_mask(tensor(graph, {2}, {3, 1}), 3);
  EXPECT_EQ(to_string(mask.type()), "bool[2, 1, 1, 3]");
  std::vector<double> expected{0.681176788824, 0.701512576242, 0.391916037618, -0.102004737355,
                               0.580598710174, 0.554217210577, 0.267178696963, -0.145518132615,
                               0.717646098277, 0.756697196083, 0.439861778850, -0.083847506005};
  for (int query = 0; query < 3; ++query)
    expected.insert(expected.end(),
                    {0.364647250973, -0.109330981020, -0.531889144296, -0.704291532012});
  EXPECT_THAT(values(multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 2, .mask = mask}),
                     weights),
              near(expected));
}

TEST(MultiHeadAttention, ABiasOfTheHeadsIsSharedByRows) {
  Graph graph;
  Tensor x = constant(graph, wave(two_rows, 0)), bias = constant(graph, wave({2, 3, 3}, 7));
  EXPECT_THAT(
      values(multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 2, .bias = bias}),
             weights),
      near({0.680200837569,  0.680394110841,  0.360587402334,  -0.128809195825, 0.586945494322,
            0.561377192837,  0.271784425800,  -0.145632803439, 0.731905309139,  0.822299187224,
            0.525952908779,  -0.017757240906, 0.439357817295,  0.245790961094,  -0.063375224699,
            -0.342735052051, 0.798689301798,  0.658401342886,  0.208456944610,  -0.339528011946,
            0.447399697144,  0.198740040815,  -0.143390162108, -0.418081731258}));
}

// Rows [2 images, 2 windows, 3, 4] with a bias for each window are four rows with theirs.
TEST(MultiHeadAttention, TakesSeveralLeadingAxes) {
  Graph graph;
  Array x = wave({2, 2, 3, 4}, 0), bias = wave({2, 1, 3, 3}, 7);
  auto attend = [&](const std::string& name, const Array& rows, const Tensor& b) {
    Tensor in = constant(graph, rows);
    return multi_head_attention(Scope(graph) / name, in, in, in, {.heads = 2, .bias = b});
  };
  std::vector<double> all = values(attend("a", x, constant(graph, bias)), weights), parts;
  for (std::int64_t image = 0; image < 2; ++image) {
    Tensor in = constant(graph, x.row(image));
    Tensor y = multi_head_attention((Scope(graph) / "a").shared(), in, in, in,
                                    {.heads = 2, .bias = constant(graph, bias)});
    for (double v : values(y, weights)) parts.push_back(v);
  }
  EXPECT_THAT(all, near(parts));
}

TEST(MultiHeadAttention, GradientsAgreeWithDifferences) {
  auto build = [](const Scope& s, std::span<const Tensor> x) {
    Tensor mask = padding_mask(tensor(s.graph(), {2}, {3, 1}), 3);
    return std::vector{
        multi_head_attention(s / "a", x[0], x[1], x[1], {.heads = 2, .mask = mask, .bias = x[2]})};
  };
  EXPECT_EQ(
      check_op({.build = build, .inputs = {noise({2, 2, 4}), noise({2, 3, 5}), noise({2, 1, 3})}}),
      "");
}

TEST(MultiHeadAttention, HasFourDenseLayers) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 3, 4}));
  multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 4});
  std::int64_t parameters = 0;
  for (const Variable& v : trainable_variables(graph)) parameters += v.shape().elements();
  EXPECT_EQ(parameters, 4 * (4 * 4 + 4));
}

TEST(MultiHeadAttention, TakesAnEmptyBatch) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({0, 3, 4}));
  Tensor y = multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 2});
  EXPECT_EQ(y.shape(), (Shape{0, 3, 4}));
  EXPECT_TRUE(values(y).empty());
}

// Equal scores: the mean of the values. In f16 the mask's number must be one that f16 has.
TEST(Attention, AQueryThatMayLookNowhereTakesTheMean) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Graph graph;
    auto of = [&](std::initializer_list<float> x) {
      return constant(graph, Array::of(x, {2, 1}).cast(dtype));
    };
    Tensor mask = constant(graph, Array::of({false, false, true, false}, {2, 2}));
    Tensor y = attention(Scope(graph), of({1, 1}), of({1, 2}), of({4, 8}), {.mask = mask});
    EXPECT_THAT(values(y), ElementsAre(6, 4));
  }
}

// With d = 4 and ones, each score is 4 / sqrt(4) = 2, beside 0.
TEST(Attention, ScoresAreDividedByTheRootOfTheDepth) {
  Graph graph;
  Tensor q = constant(graph, Array::of({1.0, 1.0, 1.0, 1.0}, {1, 4}));
  Tensor k = constant(graph, Array::of({1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0}, {2, 4}));
  Tensor v = constant(graph, Array::of({1.0, 0.0}, {2, 1}));
  EXPECT_THAT(values(attention(Scope(graph), q, k, v)), near({1 / (1 + std::exp(-2.0))}));
}

// Weights of 1 (a single key) that are kept are doubled.
TEST(Attention, DropoutLeavesWeightsOut) {
  Graph graph;
  Tensor q = constant(graph, Array::zeros({1, 200, 1}));
  Tensor one = tensor(graph, {1, 1, 1}, {1.0f});
  auto attend = [&](bool training) {
    return values(attention(Scope(graph), q, one, one, {.dropout = 0.5f, .training = training}));
  };
  EXPECT_THAT(attend(false), ::testing::Each(1));
  std::vector<double> y = attend(true);
  auto kept = std::count(y.begin(), y.end(), 2);
  EXPECT_EQ(kept + std::count(y.begin(), y.end(), 0), 200);
  EXPECT_GT(kept, 60);
  EXPECT_LT(kept, 140);
}

TEST(Attention, WorksInMixedPrecision) {
  Graph graph;
  graph.set_input_rule(autocast(DType::bf16));
  Tensor x = constant(graph, wave(two_rows, 0).cast(DType::f32));
  Tensor bias = constant(graph, Array::zeros({3, 3}));
  Tensor mask = padding_mask(tensor(graph, {2}, {3, 1}), 3);
  Tensor y =
      multi_head_attention(Scope(graph) / "a", x, x, x, {.heads = 2, .mask = mask, .bias = bias});
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(trainable_variables(graph)[0].type().dtype, DType::f32);
}

TEST(Attention, ErrorsSayWhatAndWhere) {
  Graph graph;
  Scope s = Scope(graph) / "layer1";
  Tensor x = constant(graph, Array::zeros({2, 3, 4})),
         wide = constant(graph, Array::zeros({2, 3, 6}));
  auto error = [&](Tensor k, Tensor v, AttentionOptions o) {
    return error_of([&] { attention(s, x, k, v, o); });
  };
  EXPECT_EQ(error(wide, x, {}),
            "attention: queries f32[2, 3, 4], keys f32[2, 3, 6] and values f32[2, 3, 4] must be "
            "[..., tq, d], [..., tk, d] and [..., tk, e] (at layer1)");
  EXPECT_EQ(error(x, x, {.mask = x}),
            "attention: the mask must be bool, got f32[2, 3, 4] (at layer1)");
  EXPECT_EQ(error(x, x, {.bias = x}),
            "attention: the bias f32[2, 3, 4] does not broadcast to the scores f32[2, 3, 3] (at "
            "layer1)");
  EXPECT_THAT(error(x, Tensor(), {}), HasSubstr("attention: input 2 is undefined"));
  auto heads = [&](std::int64_t n) {
    return error_of([&] { multi_head_attention(s, x, x, x, {.heads = n}); });
  };
  EXPECT_EQ(heads(3), "multi_head_attention: 3 heads do not divide a width of 4 (at layer1)");
  EXPECT_EQ(heads(0), "multi_head_attention: 0 heads do not divide a width of 4 (at layer1)");
  EXPECT_EQ(error_of([&] { padding_mask(x, 3); }),
            "padding_mask: lengths must be i32 or i64 [n], got f32[2, 3, 4]");
}

}  // namespace
}  // namespace belfry::testing
