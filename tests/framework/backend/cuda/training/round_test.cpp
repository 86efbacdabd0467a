// Steps of several sub-steps on a GPU, where each sub-step's plan is captured.

#include "belfry/framework/graph/scope.h"
#include "training_on_gpu.h"

namespace belfry {
namespace {

// A small GAN on 6 numbers, with dropout and batch norm, of three kinds of sub-steps.
EstimatorSpec small_gan(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = batch["x"];
  Tensor noise = random_normal(s / "noise", Shape{x.size(0), 3});
  Tensor fake = dense(s / "generator" / "out", noise, {.units = 6});
  fake = batch_norm(s / "generator" / "norm", fake, {.training = training});
  Network judge(s / "discriminator", [=](Scope d, Tensor data) {
    Tensor h = leaky_relu(dense(d / "hidden", data, {.units = 8}), {.alpha = 0.2f});
    h = dropout(d / "drop", h, {.rate = 0.3f, .training = training});
    return dense(d / "logit", h, {.units = 1});
  });
  Tensor real_logit = judge(x), fake_logit = judge(fake);
  Tensor g_loss = mean(softplus(-fake_logit));
  Tensor d_loss = mean(softplus(fake_logit)) + mean(softplus(-real_logit));
  auto update = [&](Tensor loss, const std::string& name) {
    Update u = minimize(loss, adam({.learning_rate = 0.01}), trainable_variables(s.graph(), name));
    u.counter = name + "_step";
    return u;
  };
  return {.loss = d_loss,
          .train = {update(g_loss, "generator"), update(d_loss, "discriminator")},
          .values = {{"g_loss", g_loss}},
          .round = {{.updates = {0}}, {.updates = {0, 1}}, {.updates = {1}, .fresh_batch = false}}};
}

Trained rounds(const RunConfig& config) {
  return train_on(config, 6, 0, digits({8, 8, 4}), small_gan);
}

TEST(CudaTrainingRounds, CapturedSubStepsGiveTheBitsOfThoseLaunchedOneByOne) {
  RunConfig eager = on("cuda");
  eager.capture_steps = false;
  expect_same(rounds(on("cuda")), rounds(eager));
}

TEST(CudaTrainingRounds, AGpuAgreesWithTheCpu) {
  Trained gpu = rounds(on("cuda")), cpu = rounds(on("cpu"));
  ASSERT_EQ(gpu.losses.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(gpu.losses[i], cpu.losses[i], 1e-4) << i;
  EXPECT_EQ(gpu.variables.at("generator_step").item(), 12);
  EXPECT_EQ(gpu.variables.at("discriminator_step").item(), 12);
}

}  // namespace
}  // namespace belfry
