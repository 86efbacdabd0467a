// Budgets of training steps on an H100: launches, bytes, and the time that both take at least. An
// emulated GPU compiles the plans; products and convolutions count as cuBLASLt and cuDNN run them.

#include <gtest/gtest.h>

#include <array>

#include "../../../../bench/gpu_models.h"
#include "../emulated/emulated_api.h"
#include "belfry/framework/compiler/roofline.h"
#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

struct Step {
  int launches = 0;
  Roofline roofline;
  double examples_per_second = 0;  // at most
};

// Kernels enqueue without reading their operands, so that a capture counts them.
int launches_of(const Instruction& i, Device& device) {
  if (is_product(i)) {  // ReLU is a kernel behind cuBLASLt's
    bool relu =
        i.node->is(matmul_op) && i.node->as<MatmulNodeOptions>().activation != Activation::none;
    return relu ? 2 : 1;
  }
  static std::array<std::byte, 256> somewhere;
  std::vector<void*> inputs(i.inputs.size(), &somewhere), outputs(i.outputs.size(), &somewhere);
  auto stream = device.make_stream();
  stream->activate(1);
  int before = cuda::emulated_api().counts().launches;
  stream->begin_capture();
  i.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = &somewhere}, *stream);
  int launches = cuda::emulated_api().counts().launches - before;
  stream->end_capture();
  return launches;
}

Step step_of(const std::string& name, std::int64_t batch_size, const std::string& precision) {
  cuda::emulated_api().set_memory(std::int64_t{80} << 30);
  bench::GpuModel model = bench::gpu_model(name);
  Session session(
      model.model_fn,
      run_config_from_json(concat(R"({"devices": ["cuda:0"], "precision": ")", precision, "\"}")));
  const Planner& planner = session.planner();
  Model training(planner.model_fn(), Mode::train, bench::signature_of(model, batch_size), {},
                 planner.complete());
  auto tower = planner.compile(training);
  const Plan& plan = *tower->plans[0];
  Step step{.roofline = roofline_of(plan)};
  bool convolutions = false;
  for (const Instruction& i : plan.instructions) {
    step.launches += launches_of(i, *find_device("cuda:0"));
    convolutions |= is_product(i) && !i.node->is(matmul_op);
  }
  // cuDNN's kernels read weights that one launch packs for all convolutions, and leave gradients
  // that another one unpacks.
  if (convolutions) step.launches += 2;
  step.examples_per_second =
      batch_size / (step.roofline.product_seconds + step.roofline.other_seconds);
  cuda::emulated_api().set_memory(cuda::emulated_memory);
  return step;
}

// Bytes are those of passes over memory beside products.
TEST(CudaBudgets, ResNet50) {
  Step step = step_of("resnet50", 256, "bf16");
  EXPECT_LE(step.launches, 509);
  EXPECT_LE(step.roofline.others.bytes, 57.5e9);
  EXPECT_GE(step.examples_per_second, 7400);
}

TEST(CudaBudgets, UNetOfVolumes) {
  Step step = step_of("unet3d", 1, "bf16");
  EXPECT_LE(step.launches, 200);
  EXPECT_LE(step.roofline.others.bytes, 4.2e9);
  EXPECT_GE(step.examples_per_second, 377);
}

TEST(CudaBudgets, Mlp) {
  Step step = step_of("mlp", 128, "f32");
  EXPECT_LE(step.launches, 20);
  EXPECT_LE(128 / step.examples_per_second, 7.1e-6);
}

// Half a round: the generator's step.
TEST(CudaBudgets, Dcgan) {
  Step step = step_of("dcgan64", 64, "bf16");
  EXPECT_LE(step.launches, 227);
  EXPECT_LE(step.roofline.others.bytes, 0.89e9);
}

}  // namespace
}  // namespace belfry
