#include "belfry/models/gan/estimators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../framework/base/error_of.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/models/gan/spectral.h"
#include "belfry/models/gan/tensor_pool.h"
#include "belfry/models/make.h"
#include "gan_support.h"

namespace belfry::gan {
namespace {

using ::testing::HasSubstr;

const DcganOptions tiny{.size = 8, .filters = 3, .noise = 4};

double largest(const std::map<std::string, Array>& variables, std::string_view under) {
  double most = 0;
  for (const auto& [name, value] : variables)
    if (name.starts_with(under))
      for (std::int64_t i = 0; i < value.elements(); ++i)
        most = std::max(most, std::abs(value.at(i)));
  return most;
}

TEST(GanEstimators, DcganTrains) {
  auto found = variables_after(gan(dcgan(tiny)), models::random_images({4, 8, 8, 1}, 10), 2);
  EXPECT_EQ(found.at("generator_step").item(), 2);
  EXPECT_EQ(found.at("discriminator_step").item(), 2);
  EXPECT_TRUE(found.contains("generator/up1/kernel/adam/m"));
}

TEST(GanEstimators, ConditionalGanReadsTheLabel) {
  DcganOptions networks = tiny;
  EXPECT_THAT(error_of([&] { conditional_gan(networks); }), HasSubstr("set DcganOptions::classes"));
  networks.classes = 10;
  auto found =
      variables_after(gan(conditional_gan(networks)), models::random_images({4, 8, 8, 1}, 10), 1);
  EXPECT_EQ(found.at("generator/noise/kernel").shape(), (Shape{14, 4 * 4 * 3}));
  EXPECT_EQ(found.at("discriminator/down1/kernel").shape(), (Shape{4, 4, 11, 3}));
}

TEST(GanEstimators, WganClipsTheCriticAlone) {
  auto found = variables_after(gan(wgan(tiny)), models::random_images({4, 8, 8, 1}, 10), 2);
  EXPECT_EQ(found.at("discriminator_step").item(), 10);
  EXPECT_EQ(found.at("generator_step").item(), 2);
  // Slots are not: this one began as 1 and has lost a tenth ten times.
  EXPECT_GT(largest(found, "discriminator/down1/kernel/rmsprop/mean_square"), 0.3);
  for (const char* name : {"discriminator/down1/kernel", "discriminator/logit/kernel"})
    EXPECT_EQ(largest({{name, found.at(name)}}, ""), double{0.01f}) << name;
  EXPECT_GT(largest({{"", found.at("generator/up1/kernel")}}, ""), 0.03);
  EXPECT_GT(largest({{"", found.at("generator/norm1/scale")}}, ""), 0.9);
}

TEST(GanEstimators, CriticsAreFirst) {
  for (const GanOptions& o : {wgan(tiny), wgan_gp(tiny)}) EXPECT_EQ(letters(o.round), "dddddg");
  EXPECT_EQ(letters(dcgan(tiny).round), "gd");
}

TEST(GanEstimators, RoundsComeFromJson) {
  auto same = [](const char* round, std::vector<SubStep> steps) {
    auto json = concat(R"({"size": 8, "filters": 3, "noise": 4, "round": )", round, "}");
    GanOptions o = dcgan(tiny);
    o.round = std::move(steps);
    InputFn images = models::random_images({4, 8, 8, 1}, 10);
    auto by_name = variables_after(models::make("dcgan", json), images, 2);
    for (const auto& [name, value] : variables_after(gan(o), images, 2))
      EXPECT_TRUE(identical(by_name.at(name), value)) << round << " " << name;
  };
  same(R"({"discriminator": 2, "discriminator_first": true})", {{{1}}, {{1}}, {{0}}});
  same(R"({"generator": 2, "jointly": true, "generator_batches": "same"})",
       {{{0, 1}}, {{0}, false}});
  same(R"({"discriminator_batches": "same"})", {{{0}}, {{1}, false}});
  auto refusal = [](const char* round) {
    return error_of([&] { models::make("acgan", concat(R"({"round": )", round, "}")); });
  };
  EXPECT_THAT(refusal(R"({"joint": 1})"), HasSubstr("discriminator_first, jointly"));
  EXPECT_THAT(refusal(R"({"generator_batches": "new"})"), HasSubstr("one of fresh, same"));
  EXPECT_THAT(refusal(R"({"generator": -1})"), HasSubstr("neither may be below 0"));
}

TEST(GanEstimators, WganGpHasNoBatchNormInItsCritic) {
  auto found = variables_after(gan(wgan_gp(tiny)), models::random_images({4, 8, 8, 1}, 10), 1);
  EXPECT_EQ(found.at("discriminator_step").item(), 5);
  for (const auto& [name, value] : found)
    EXPECT_FALSE(name.starts_with("discriminator") && name.ends_with("moving_mean")) << name;
}

// Clipped weights, spectral norm, a pool and dropout, in rounds of several sub-steps.
GanOptions everything() {
  return {
      .generator = generate,
      .discriminator =
          [](Scope s, Tensor x, const Batch& batch, Mode mode) {
            x = spectral_dense(s / "in", x, {.units = 6}, {.training = mode == Mode::train});
            return criticise(std::move(s), x, batch, mode);
          },
      .real = "x",
      .loss = with_tensor_pool(with_gradient_penalty(wasserstein()), {.size = 9}),
      .discriminator_optimizer = clip_weights(rmsprop({.learning_rate = 0.005}), {.limit = 0.25}),
      .round = sequential({.generator = 2, .discriminator = 3})};
}

TEST(GanEstimators, AllToolsAreTheSameOnSeveralTowers) {
  expect_towers_are_one(gan(everything()), batches_of(5), 6, 1e-5);
}

TEST(GanEstimators, AllToolsResumeToTheBit) {
  for (int towers : {1, 2})
    expect_resumes_to_the_bit(gan(everything()), batches_of(5), 3, on_towers(towers));
  auto found = variables_after(gan(everything()), batches_of(5), 6);
  EXPECT_EQ(largest({{"", found.at("discriminator/in/kernel")}}, ""), 0.25);
}

// Values kept from step to step stay in f32, and the weights are clipped there.
TEST(GanEstimators, AllToolsTrainIn16Bits) {
  RunConfig run = on_towers(2);
  run.precision = Precision::bf16;
  auto found = variables_after(gan(everything()), batches_of(5), 4, run);
  for (const char* name : {"discriminator/tensor_pool/rows0", "discriminator/in/u"}) {
    EXPECT_EQ(found.at(name).dtype(), DType::f32) << name;
    EXPECT_GT(largest({{name, found.at(name)}}, ""), 0.1) << name;
  }
  EXPECT_EQ(found.at("discriminator/tensor_pool/count").item(), 9);
  EXPECT_EQ(largest({{"", found.at("discriminator/in/kernel")}}, ""), 0.25);
}

// u moves with the critic's sub-steps, one iteration each: of a kernel that stands still it is the
// same after 1 round of 4 as after 4 of 1.
TEST(GanEstimators, SpectralNormIteratesOnceASubStep) {
  auto u_after = [](int critic_steps, int rounds) {
    GanOptions o = everything();
    o.discriminator_optimizer = sgd({.learning_rate = 0});
    o.round = sequential({.generator = 2, .discriminator = critic_steps});
    return variables_after(gan(o), batches_of(5), rounds).at("discriminator/in/u");
  };
  Array one = u_after(1, 1), four = u_after(4, 1);
  EXPECT_TRUE(identical(four, u_after(1, 4)));
  EXPECT_FALSE(identical(four, one));
}

}  // namespace
}  // namespace belfry::gan
