// Covers cyclegan.cpp and translation.cpp.
#include "belfry/models/gan/cyclegan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../../framework/base/error_of.h"
#include "belfry/framework/runtime/evaluate.h"
#include "gan_support.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;

// ---- the networks

struct Network {
  Graph graph;
  Tensor y;

  std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (const Variable& v : trainable_variables(graph)) sum += v.shape().elements();
    return sum;
  }
  // The output for sin(0.9 k) as image; the l-th layer's kernel is sin(1.3 k + l) / 2 and its bias
  // cos(k + l) / 10 for elements k = 0, 1, ... and l = 1, 2, ...
  Array of_known_numbers() const {
    auto filled = [](const TensorType& type, auto f) {
      Array out(type.shape, type.dtype);
      int k = 0;
      for (float& x : out.span<float>()) x = static_cast<float>(f(k++));
      return out;
    };
    std::map<std::string, Array> given{
        {"x", filled(graph.find_input("x")->output(), [](int k) { return std::sin(0.9 * k); })}};
    int l = 0;
    for (const Variable& v : trainable_variables(graph)) {
      bool bias = v.name().ends_with("bias");
      if (!bias) ++l;
      given[v.name()] = filled(v.type(), [&](int k) {
        return bias ? std::cos(k + l) * 0.1 : std::sin(1.3 * k + l) * 0.5;
      });
    }
    return evaluate({y}, given)[0];
  }
};

std::unique_ptr<Network> translator(const ResnetTranslatorOptions& o, const Shape& image) {
  auto out = std::make_unique<Network>();
  Tensor x = input(out->graph, "x", {image, DType::f32});
  out->y = resnet_translator(o)(Scope(out->graph), x);
  return out;
}
std::unique_ptr<Network> discriminator(const PatchDiscriminatorOptions& o, const Shape& image) {
  auto out = std::make_unique<Network>();
  Batch batch(out->graph, {{"x", {image, DType::f32}}});
  out->y = patch_discriminator(o)(Scope(out->graph), batch["x"], batch, Mode::train);
  return out;
}

// 49*3*64 + 64; 9*64*128 + 128 and 9*128*256 + 256; blocks 2 (9*256*256 + 256); back as there; out
// 49*64*3 + 3. The authors' program prints 11.378 M and 2.765 M.
TEST(Translation, HasThePublishedParameters) {
  auto nine = translator({}, {1, 256, 256, 3}), six = translator({.blocks = 6}, {1, 128, 64, 3});
  EXPECT_EQ(nine->parameters(), 11'378'179);
  EXPECT_EQ(nine->y.shape(), (Shape{1, 256, 256, 3}));
  EXPECT_EQ(six->parameters(), 11'378'179 - 3 * 2 * (9 * 256 * 256 + 256));
  EXPECT_EQ(six->y.shape(), (Shape{1, 128, 64, 3}));
  auto patches = discriminator({}, {2, 256, 256, 3});
  EXPECT_EQ(patches->parameters(), 2'764'737);
  EXPECT_EQ(patches->y.shape(), (Shape{2, 30, 30, 1}));
}

void expect_values(const Array& got, std::int64_t every, const std::vector<double>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.at(static_cast<std::int64_t>(i) * every), wanted[i], 1e-4) << i;
}

// Literals from PyTorch 2 in double: Conv2d, ConvTranspose2d(output_padding=1), instance_norm and
// pad(mode='reflect') put together as in the authors' program.
TEST(Translation, ComputesWhatPyTorchDoes) {
  Array image =
      translator({.channels = 3, .filters = 2, .blocks = 2}, {1, 12, 8, 2})->of_known_numbers();
  ASSERT_EQ(image.shape(), (Shape{1, 12, 8, 3}));
  expect_values(image, 29,
                {-0.974679, 0.984704, -0.907246, 0.338383, 0.094059, -0.873185, 0.088075, 0.408599,
                 -0.580608, 0.459955});
  Array logits = discriminator({.filters = 2, .layers = 2}, {1, 24, 32, 2})->of_known_numbers();
  ASSERT_EQ(logits.shape(), (Shape{1, 4, 6, 1}));
  expect_values(logits, 3,
                {4.728643, 0.26922, -0.907867, 3.234806, -5.934946, -4.319744, 6.039187, 0.305109});
}

TEST(Translation, BordersMayBeZeros) {
  auto zeros = translator({.filters = 2, .blocks = 1, .reflect = false}, {1, 8, 8, 2});
  auto mirrored = translator({.filters = 2, .blocks = 1}, {1, 8, 8, 2});
  EXPECT_EQ(zeros->y.shape(), mirrored->y.shape());
  EXPECT_EQ(zeros->parameters(), mirrored->parameters());
  EXPECT_GT(std::abs(zeros->of_known_numbers().at(0) - mirrored->of_known_numbers().at(0)), 1e-3);
}

TEST(Translation, Errors) {
  EXPECT_THAT(error_of([] { resnet_translator({.filters = 0}); }), HasSubstr("at least 1"));
  EXPECT_THAT(error_of([] { resnet_translator({.blocks = -1}); }), HasSubstr("blocks at least 0"));
  EXPECT_THAT(error_of([] { patch_discriminator({.layers = 0}); }), HasSubstr("at least 1"));
  EXPECT_THAT(error_of([] {
                translator({}, {1, 10, 8, 3});
              }),
              HasSubstr("multiples of 4 pixels from 8 on, got f32[1, 10, 8, 3]"));
  EXPECT_THAT(error_of([] { translator({}, {1, 4, 8, 3}); }), HasSubstr("from 8 on"));
  EXPECT_THAT(error_of([] { discriminator({}, {1, 16, 16, 3}); }), HasSubstr("(at logit)"));
}

// ---- the estimator

CycleganOptions small() {
  return {.a_channels = 2,
          .b_channels = 2,
          .filters = 2,
          .blocks = 1,
          .patch_layers = 1,
          .identity_weight = 5,
          .pool = {.size = 3}};
}
InputFn pairs(std::int64_t rows) { return batches_of(rows, {"a", "b"}, {8, 8, 2}); }
std::map<std::string, Array> one_step(const CycleganOptions& o, std::int64_t steps = 1) {
  return variables_after(cyclegan(o), pairs(2), steps);
}

struct Values final : Hook {
  void after_step(const StepResult& r) override {
    loss = r.loss;
    for (const auto& [name, value] : r.values) values[name] = value;
  }
  double loss = 0;
  std::map<std::string, double> values;
};

TEST(Cyclegan, TrainsFourNetworksAndFillsTwoPools) {
  auto seen = std::make_shared<Values>();
  auto first = variables_after(cyclegan(small()), pairs(2), 1, models::quiet(), {seen});
  auto second = variables_after(cyclegan(small()), pairs(2), 2);
  EXPECT_EQ(seen->loss, seen->values.at("generator_loss"));
  for (const char* way : {"a_to_b", "b_to_a"}) {
    for (const char* name : {"generator/last/kernel", "discriminator/down1/kernel"}) {
      std::string full = concat(way, "/", name);
      EXPECT_FALSE(identical(first.at(full), second.at(full))) << full;
    }
    std::string pool = concat(way, "/discriminator/tensor_pool/");
    EXPECT_EQ(first.at(pool + "count").item(), 2);
    EXPECT_EQ(second.at(pool + "count").item(), 3);
    EXPECT_EQ(first.at(pool + "rows0").shape(), (Shape{3, 8, 8, 2}));
  }
}

// The losses of evaluate() against those of predictions: E|a - back| takes both generators,
// identity gives each what it should leave alone.
TEST(Cyclegan, LossesAreThoseOfThePredictions) {
  CycleganOptions o = small();
  o.adversarial_weight = 0, o.cycle_weight = 1, o.identity_weight = 1;
  TemporaryFolder folder;
  Estimator estimator({cyclegan(o), folder.path(), models::quiet()});
  estimator.train(pairs(2), {.steps = 2});
  EvalResult found = estimator.evaluate(pairs(2), {.steps = 1});
  EXPECT_FLOAT_EQ(found.at("loss"), found.at("generator_loss"));
  EXPECT_TRUE(std::isfinite(found.at("discriminator_loss")));
  Features batch;
  pairs(2)()->next(batch);
  // The prediction `name` of predict() for one feature.
  auto predicted = [&](const std::string& feature, const Array& x, const std::string& name) {
    struct Once final : InputStream {
      bool next(Features& out) override {
        out = features;
        return std::exchange(left, false);
      }
      Features features;
      bool left = true;
    };
    auto input = [&]() -> InputStreamPtr {
      auto stream = std::make_unique<Once>();
      stream->features = {{feature, x}};
      return stream;
    };
    std::vector<float> all;
    for (const Features& row : estimator.predict(input, {})) {
      EXPECT_EQ(row.size(), 1u);
      Array image = row.at(name);
      all.insert(all.end(), image.span<float>().begin(), image.span<float>().end());
    }
    return Array::of(std::span<const float>(all), x.shape());
  };
  auto to_b = [&](const Array& x) { return predicted("a", x, "a_to_b"); };
  auto to_a = [&](const Array& x) { return predicted("b", x, "b_to_a"); };
  auto difference = [](const Array& x, const Array& y) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) sum += std::abs(x.at(i) - y.at(i));
    return sum / static_cast<double>(x.elements());
  };
  Array a = batch.at("a"), b = batch.at("b");
  double cycle = difference(a, to_a(to_b(a))) + difference(b, to_b(to_a(b)));
  double identity = difference(b, to_b(b)) + difference(a, to_a(a));
  EXPECT_NEAR(found.at("cycle_loss"), cycle, 1e-5);
  EXPECT_NEAR(found.at("generator_loss"), cycle + identity, 1e-5);
}

// Each part of the generators' loss, by leaving out the others.
TEST(Cyclegan, TheLossIsAWeightedSum) {
  auto loss_of = [](double adversarial, double cycle, double identity) {
    CycleganOptions o = small();
    o.adversarial_weight = adversarial, o.cycle_weight = cycle, o.identity_weight = identity;
    TemporaryFolder folder;
    Estimator estimator({cyclegan(o), folder.path(), models::quiet()});
    auto seen = std::make_shared<Values>();
    estimator.train(pairs(2), {.steps = 1, .hooks = {seen}});
    return *seen;
  };
  double adversarial = loss_of(1, 0, 0).loss, cycle = loss_of(0, 1, 0).loss;
  Values identity = loss_of(0, 0, 1);
  EXPECT_NEAR(identity.values.at("cycle_loss"), cycle, 1e-5);
  EXPECT_NEAR(loss_of(2, 10, 5).loss, 2 * adversarial + 10 * cycle + 5 * identity.loss, 1e-3);
}

// Dark images and light ones, each with noise of its own.
InputFn shades() {
  struct Stream final : InputStream {
    bool next(Features& batch) override {
      batch = {};
      for (auto [name, shade] : {std::pair("a", -0.5f), {"b", 0.5f}}) {
        Array x(Shape{4, 8, 8, 1}, DType::f32);
        PhiloxStream random(philox_key(number, name));
        for (float& value : x.span<float>()) value = shade + random.uniform(-0.2f, 0.2f);
        batch.set(name, x);
      }
      ++number;
      return true;
    }
    std::uint64_t number = 0;
  };
  return [] { return std::make_unique<Stream>(); };
}

TEST(Cyclegan, LearnsWhatTheOthersLookLike) {
  TemporaryFolder folder;
  Optimizer fast = adam({.learning_rate = 5e-3, .beta1 = 0.5});
  Estimator estimator({cyclegan({.a_channels = 1,
                                 .b_channels = 1,
                                 .filters = 4,
                                 .blocks = 1,
                                 .patch_layers = 1,
                                 .generator_optimizer = fast,
                                 .discriminator_optimizer = fast}),
                       folder.path(), models::quiet()});
  estimator.train(shades(), {.steps = 100});
  double to_b = 0, to_a = 0;
  int rows = 0;
  for (const Features& row : estimator.predict(shades(), {})) {
    for (float x : row.at("a_to_b").span<float>()) to_b += x / 64;
    for (float x : row.at("b_to_a").span<float>()) to_a += x / 64;
    if (++rows == 20) break;
  }
  EXPECT_NEAR(to_b / rows, 0.5, 0.1);
  EXPECT_NEAR(to_a / rows, -0.5, 0.1);
}

// In f64: norms of 2 x 2 pixels enlarge the rounding of f32 a thousandfold, and the gradients of
// biases in front of them are nothing but rounding, which Adam would make steps of.
TEST(Cyclegan, TowersAreOne) {
  expect_towers_are_one(cyclegan(small()), batches_of(3, {"a", "b"}, {8, 8, 2}, DType::f64), 4,
                        1e-8);
}

TEST(Cyclegan, ResumesToTheBit) {
  for (int towers : {1, 2})
    expect_resumes_to_the_bit(cyclegan(small()), pairs(3), 2, on_towers(towers));
}

TEST(Cyclegan, DiscriminatorsMaySeeTheStepsImagesAlone) {
  CycleganOptions o = small();
  o.use_pool = false;
  EXPECT_FALSE(one_step(o).contains("a_to_b/discriminator/tensor_pool/count"));
}

TEST(Cyclegan, Errors) {
  EXPECT_THAT(error_of([] { cyclegan({.a_channels = 0}); }),
              HasSubstr("channels must be at least"));
  EXPECT_THAT(error_of([] { cyclegan({.cycle_weight = -1}); }), HasSubstr("weights must be"));
  EXPECT_THAT(error_of([] { cyclegan({.pool = {.size = 0}}); }), HasSubstr("at least 1, got 0"));
  EXPECT_THAT(error_of([] { cyclegan({.loss = {}}); }), HasSubstr("the loss is not set"));
  CycleganOptions o = small();
  o.b_channels = 3;
  EXPECT_THAT(error_of([&] { one_step(o); }),
              HasSubstr("the feature `b` is f32[2, 8, 8, 2]; expected images [n, h, w, 3]"));
  TemporaryFolder folder;
  Estimator estimator({cyclegan(small()), folder.path(), models::quiet()});
  estimator.train(pairs(2), {.steps = 1});
  EXPECT_THAT(error_of([&] {
                for (const Features& row : estimator.predict(batches_of(2, {"c"}), {})) (void)row;
              }),
              HasSubstr("must have the feature `a` or `b`; it has c"));
}

}  // namespace
}  // namespace belfry::gan
