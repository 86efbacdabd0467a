#include "belfry/models/gan/dcgan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../framework/base/error_of.h"
#include "../models_support.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;

struct Built {
  TensorType image, logits;
  std::int64_t generator = 0, discriminator = 0;  // parameters
};

Built build(const DcganOptions& o) {
  Graph graph;
  Scope s(graph);
  Signature signature{{"image", {{2, o.size, o.size, o.channels}, DType::f32}},
                      {"label", {{2}, DType::i64}}};
  Batch batch(graph, signature);
  Tensor image = dcgan_generator(o)(s / "generator", batch, Mode::train);
  Tensor logits = dcgan_discriminator(o)(s / "discriminator", batch["image"], batch, Mode::train);
  auto count = [&](std::string_view name) {
    std::int64_t sum = 0;
    for (const Variable& v : trainable_variables(graph, name)) sum += v.type().shape.elements();
    return sum;
  };
  return {image.type(), logits.type(), count("generator"), count("discriminator")};
}

// The numbers of PyTorch's DCGAN example with its defaults, 64 filters and 100 numbers of noise.
TEST(Dcgan, HasThePublishedParameters) {
  Built built = build({.size = 64, .channels = 3});
  EXPECT_EQ(built.generator, 3'576'704);
  EXPECT_EQ(built.discriminator, 2'765'568);
  EXPECT_EQ(built.image, (TensorType{{2, 64, 64, 3}, DType::f32}));
  EXPECT_EQ(built.logits, (TensorType{{2, 1}, DType::f32}));
}

// Noise 100 x 16 x 256; 16 (256 x 128 + 128 x 64 + 64); norms 2 (256 + 128 + 64). Back: 16 (64 +
// 64 x 128 + 128 x 256), norms 2 (128 + 256), logit 16 x 256.
TEST(Dcgan, HasALayerLessFor32Pixels) {
  Built built = build({});
  EXPECT_EQ(built.generator, 409'600 + 656'384 + 896);
  EXPECT_EQ(built.discriminator, 656'384 + 768 + 4'096);
  EXPECT_EQ(built.image, (TensorType{{2, 32, 32, 1}, DType::f32}));
}

TEST(Dcgan, IsToldTheClass) {
  Built plain = build({}), conditional = build({.classes = 10});
  EXPECT_EQ(conditional.generator - plain.generator, 10 * 16 * 256);
  EXPECT_EQ(conditional.discriminator - plain.discriminator, 10 * 16 * 64);
}

TEST(Dcgan, SizesThatAreNoPowerOfTwoAreRefused) {
  EXPECT_THAT(error_of([] { dcgan_generator({.size = 28}); }), HasSubstr("power of 2"));
  EXPECT_THAT(error_of([] { dcgan_discriminator({.size = 4}); }), HasSubstr("power of 2"));
  EXPECT_THAT(error_of([] { dcgan_generator({.size = 16384}); }),
              HasSubstr("8 to 8192, got 16384"));
  EXPECT_THAT(error_of([] { dcgan_generator({.noise = 0}); }), HasSubstr("at least 1"));
}

// A step of each network, and the images lie in (-1, 1).
TEST(Dcgan, Trains) {
  RunConfig run = models::quiet();
  DcganOptions o{.size = 8, .filters = 4, .noise = 3, .classes = 10};
  GanEstimator estimator(
      {{.generator = dcgan_generator(o), .discriminator = dcgan_discriminator(o)},
       new_folder(),
       run});
  InputFn images = models::random_images({4, 8, 8, 1}, 10);
  EXPECT_EQ(estimator.train(images, {.steps = 2}).global_step, 2);
  for (const Features& row : estimator.predict(images, {})) {
    Array image = row.at("generated");
    for (float x : image.span<float>()) EXPECT_LT(std::abs(x), 1);
    break;
  }
}

}  // namespace
}  // namespace belfry::gan
