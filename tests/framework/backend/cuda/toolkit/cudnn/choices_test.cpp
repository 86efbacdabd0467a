// The plans that cuDNN's heuristics choose for the convolutions of models by name, on GPUs that are
// described to it: beside choices.txt one sees what another release changes.

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "../../../../../bench/gpu_models.h"
#include "../../../device_without_memory.h"
#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/models/models.h"
#include "described_gpus.h"

namespace belfry::cuda {
namespace {

class PlanningDevice final : public DeviceWithoutMemory {
 public:
  std::unique_ptr<Kernel> find_kernel(const Node&, const KernelOptions&) override {
    return std::make_unique<NamedKernel>("none");
  }
};

struct TrainedModel {
  std::string name;
  ModelFn model_fn;
  Signature signature;
  Precision precision = Precision::bf16;
};

std::vector<TrainedModel> trained_models() {
  std::vector<TrainedModel> all;
  auto of_bench = [&](const char* name, std::int64_t n, Precision precision) {
    bench::GpuModel model = bench::gpu_model(name);
    all.push_back({name, model.model_fn, bench::signature_of(model, n), precision});
  };
  auto by_name = [&](const char* name, const Shape& image, const char* target,
                     const TensorType& type) {
    all.push_back({name, models::make(name), {{"image", {image, DType::f32}}, {target, type}}});
  };
  of_bench("resnet50", 256, Precision::bf16);
  of_bench("resnet50", 128, Precision::f32);
  of_bench("unet3d", 1, Precision::bf16);
  of_bench("dcgan64", 64, Precision::bf16);
  of_bench("lenet", 128, Precision::f32);
  by_name("mobilenet_v2", {128, 224, 224, 3}, "label", {{128}, DType::i64});
  by_name("unet", {8, 512, 512, 1}, "mask", {{8, 512, 512, 1}, DType::f32});
  return all;
}

std::optional<ConvDirection> direction_of(const Node& node) {
  if (node.is(conv2d_op) || node.is(conv3d_op)) return ConvDirection::forward;
  if (node.is(conv2d_grad_input_op) || node.is(conv3d_grad_input_op)) return ConvDirection::input;
  if (node.is(conv2d_grad_kernel_op) || node.is(conv3d_grad_kernel_op))
    return ConvDirection::kernel;
  return std::nullopt;
}

std::string text_of(const Convolution& c) {
  static constexpr const char* directions[] = {"forward", "input  ", "kernel "};
  return concat(directions[static_cast<int>(c.direction)], c.adds ? " adds " : " ", c.dtype, " x",
                c.x(), " w", c.w(), " y", c.y());
}

// Each convolution of a training step once.
std::map<std::string, Convolution> convolutions_of(const TrainedModel& trained) {
  Model model(trained.model_fn, Mode::train, trained.signature, {},
              {.precision = trained.precision});
  PlanningDevice device;
  Device* devices[] = {&device};
  std::map<std::string, Convolution> all;
  auto plan = model.compile(devices);
  for (const Instruction& i : plan->plans[0]->instructions)
    if (auto direction = direction_of(*i.node)) {
      Convolution c = convolution_of(*i.node, *direction);
      all.emplace(text_of(c), c);
    }
  return all;
}

// "engine/workspace", in MiB.
std::string choice(const std::shared_ptr<CudnnHandle>& library, const Convolution& c) {
  auto plan = find_plan(library, c, /*bias=*/false, /*tf32=*/true);
  if (!plan) return "none";
  std::size_t mib = (plan->workspace() + (1 << 20) - 1) >> 20;
  return concat(plan->engine(), "/", mib);
}

std::string version() {
  std::size_t v = cudnnGetVersion();
  return concat("cuDNN ", v / 10000, ".", v / 100 % 100, ".", v % 100);
}

std::string table_of_choices() {
  std::string out = version() + ": engine/MiB of workspace on an A100, an H100, an H200\n";
  std::vector<std::shared_ptr<CudnnHandle>> gpus;
  for (const DescribedGpu& gpu : {a100, h100, h200})
    gpus.push_back(std::make_shared<CudnnHandle>(described(gpu)));
  for (const TrainedModel& model : trained_models()) {
    out += concat("\n", model.name, " ", to_string(model.precision), "\n");
    for (const auto& [text, c] : convolutions_of(model)) {
      out += text;
      for (const auto& gpu : gpus) out += "  " + choice(gpu, c);
      out += "\n";
    }
  }
  return out;
}

TEST(CudnnChoices, AreThoseOfTheTable) {
  std::string golden =
      read_file(BELFRY_SOURCE_DIR "/tests/framework/backend/cuda/toolkit/cudnn/choices.txt");
  if (!golden.starts_with(version() + ":"))
    GTEST_SKIP() << version() << " is here; the table is of " << golden.substr(0, golden.find(':'));
  std::string table = table_of_choices();
  if (table == golden) return;
  write_file_atomically("choices.txt", table);
  std::istringstream got(table), wanted(golden);
  for (std::string a, b; std::getline(got, a) && std::getline(wanted, b);)
    if (a != b) {
      ADD_FAILURE() << "now: " << a << "\nin the table: " << b
                    << "\nall that is chosen now is in choices.txt of the working directory";
      return;
    }
  FAIL() << "one table is longer; the new one is choices.txt of the working directory";
}

}  // namespace
}  // namespace belfry::cuda
