// Steps on a GPU, on a fixed random batch of bytes in pinned memory that travels anew for each:
// examples per second, and the host's share of a step. A step of a GAN is a round: both networks.
// Prints one line of JSON a round of steps.

#include <cstdio>
#include <string>

#include "arguments.h"
#include "belfry/hooks/profile.h"
#include "gpu_ceilings.h"
#include "gpu_models.h"

namespace belfry::bench {
namespace {

struct Arguments {
  std::string model = "resnet50";
  std::int64_t batch_size = 256;
  int steps = 50, warm_up = 10, rounds = 3;
  bool explain = false, kernels = false;
  std::string trace;
  std::int64_t copy_bytes = std::int64_t{1} << 30, product_size = 8192;
  RunConfig config = run_config_from_json(R"({"devices": ["cuda:0"], "precision": "bf16"})");
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  auto config = [&](const std::string& json) {
    out.config = run_config_from_json(json, out.config);
  };
  read_options(argc, argv,
               {{"--model", &out.model},  // mlp, lenet, resnet18, resnet50, unet3d, dcgan64
                {"--batch_size", &out.batch_size},
                {"--steps", &out.steps},
                {"--warm_up", &out.warm_up},
                {"--rounds", &out.rounds},
                {"--explain", &out.explain},  // the plan, and nothing is run
                {"--kernels", &out.kernels},  // each beside the card's ceilings, in place of rounds
                {"--copy_bytes", &out.copy_bytes},      // by which they are measured
                {"--product_size", &out.product_size},  // likewise
                {"--trace", &out.trace},                // file, in place of rounds
                {"--config", config}});                 // RunConfig fields in JSON
  return out;
}

// The loop of train(): one step is under way while the next is prepared.
void run_rounds(const Arguments& args, Session& session, StepDriver& driver,
                const Features& batch) {
  Replicas& replicas = driver.replicas();
  const Replicas::Started* before = nullptr;
  double host = 0, device = 0;
  auto step = [&] {
    int number = 0;
    for (const SubStep& part : driver.model().round()) {
      double begun = monotonic_seconds();
      if (part.fresh_batch) driver.build(batch);
      replicas.prepare(part.updates & driver.model().all_updates());
      replicas.start(/*trace=*/false, number++);
      host += monotonic_seconds() - begun;
      if (before) {
        Replicas::collect(*before);
        device += Replicas::times(*before).compute;
      }
      before = &replicas.started();
    }
    ++session.state()->step;
  };
  for (int i = 0; i < args.warm_up; ++i) step();
  for (int round = 0; round < args.rounds; ++round) {
    host = device = 0;
    double begun = monotonic_seconds();
    for (int i = 0; i < args.steps; ++i) step();
    double seconds = (monotonic_seconds() - begun) / args.steps;
    std::printf(
        "{\"model\": \"%s\", \"batch_size\": %lld, \"precision\": \"%s\", "
        "\"examples_per_second\": %.0f, \"us_per_step\": %.1f, \"us_host\": %.1f, "
        "\"us_device\": %.1f}\n",
        args.model.c_str(), static_cast<long long>(args.batch_size),
        to_string(args.config.precision).c_str(), static_cast<double>(args.batch_size) / seconds,
        seconds * 1e6, host / args.steps * 1e6, device / args.steps * 1e6);
    std::fflush(stdout);
  }
  if (before) Replicas::collect(*before);
}

class Forever final : public InputStream {
 public:
  explicit Forever(Features batch) : batch_(std::move(batch)) {}
  bool next(Features& batch) override {
    batch = batch_;
    return true;
  }

 private:
  Features batch_;
};

// Two steps, the tenth and the one behind it.
void write_trace(const Arguments& args, const GpuModel& model) {
  InputFn input = [&](const InputContext& context) -> InputStreamPtr {
    return std::make_unique<Forever>(random_batch(model, args.batch_size, context.allocate_host));
  };
  RunConfig config = args.config;
  config.save_checkpoint = std::nullopt;
  auto profile = hooks::profile({.path = args.trace, .first_step = 10, .steps = 2});
  Estimator estimator({.model_fn = model.model_fn, .run = config});
  estimator.train(input, {.max_steps = 11, .hooks = {profile}});
}

void run(const Arguments& args) {
  GpuModel model = gpu_model(args.model);
  if (!args.trace.empty()) return write_trace(args, model);
  Session session(model.model_fn, args.config);
  AllocateHost pinned = session.towers().input_context().allocate_host;
  Features batch = random_batch(model, args.batch_size, pinned);
  session.begin_training();
  StepDriver driver(session, Mode::train);
  driver.build(batch);
  if (args.explain) {
    std::string plan = explain(*session.planner().compile(driver.model()));
    std::printf("%s", plan.c_str());
  } else if (args.kernels) {
    std::shared_ptr<Device> device = find_device(args.config.devices.at(0));
    print_kernels(session, driver, measure_ceilings(*device, args.copy_bytes, args.product_size));
  } else {
    run_rounds(args, session, driver, batch);
  }
}

}  // namespace
}  // namespace belfry::bench

int main(int argc, char** argv) {
  using namespace belfry::bench;
  return run_program([&] { run(parse(argc, argv)); });
}
