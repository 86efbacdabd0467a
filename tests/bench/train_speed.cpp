// Training speed of a model on fixed random batches, beside the speed of its convolutions alone.
// A step of a GAN is a round.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/step/session.h"
#include "conv_choices.h"
#include "isolated.h"
#include "train_work.h"

namespace belfry {
namespace {

struct Arguments {
  bench::WorkOptions work;
  std::string config = "{}";  ///< RunConfig as JSON
  std::string exchange;       ///< folder for a peer: first weights and batches
  int steps = 30;
  int threads = 0;
  int towers = 1;
  bool convolutions = false;  ///< time them alone, too
  bool profile = false;
  bool choices = false;  ///< print the speed of each way for each convolution, and train nothing
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  bench::read_options(argc, argv,
                      {{"--model", &out.work.model},
                       {"--options", &out.work.options},
                       {"--sizes", &out.work.sizes},
                       {"--batch_size", &out.work.batch_size},
                       {"--rows", &out.work.rows},
                       {"--optimizer", &out.work.optimizer},
                       {"--config", &out.config},
                       {"--exchange", &out.exchange},
                       {"--steps", &out.steps},
                       {"--threads", &out.threads},
                       {"--towers", &out.towers},
                       {"--convolutions", &out.convolutions},
                       {"--profile", &out.profile},
                       {"--choices", &out.choices}});
  return out;
}

struct Rate {
  double flops = 0, seconds = 0;
};

// Adds what the convolutions of a plan take.
void add_convolutions(Rate& to, const Plan& plan, Device& device, bool profile) {
  auto stream = device.make_stream();
  stream->activate(plan.threads);
  std::map<std::string, double> by_op;
  for (const Instruction& i : plan.instructions) {
    bool computes = i.role == Instruction::Role::compute;
    bool convolution = computes && i.node->op().name.starts_with("conv");
    // An update by itself would change the variables.
    if (!computes || i.node->op().mutates || (!convolution && !profile)) continue;
    double seconds = bench::Isolated(*i.node, *i.kernel, device).seconds(*stream);
    by_op[std::string(i.node->op().name) + " " + std::string(i.kernel->implementation())] +=
        seconds;
    if (!convolution) continue;
    to.flops += i.node->op().flops(*i.node);
    to.seconds += seconds;
  }
  if (profile)
    for (const auto& [name, seconds] : by_op)
      std::fprintf(stderr, "%9.3f ms  alone: %s\n", seconds * 1e3, name.c_str());
}

// Steps of training, as Estimator::train() runs them, on batches in turn.
class Trainer {
 public:
  Trainer(const Arguments& args, RunConfig config)
      : work_(bench::make_work(args.work)), session_(work_.model, config) {
    session_.begin_training();
    driver_.emplace(session_, Mode::train);
    replicas_ = &driver_->replicas();
    driver_->build(work_.batches[0]);
    for (const SubStep& part : round()) {
      replicas_->prepare(updates_of(part));
      plans_.push_back(replicas_->executable(0).plan().plans[0]);
    }
  }

  double step() {  // returns the loss
    run_round(false);
    return replicas_->executable(0).output(0).at(0);
  }

  // How long each kind of instruction takes in a step of the first tower, in seconds.
  std::map<std::string, double> traced_step() {
    std::map<std::string, double> out;
    for (const TraceEntry& e : run_round(true))
      if (e.tower == 0) out[e.role == Instruction::Role::pack ? "pack" : e.op] += e.seconds;
    return out;
  }

  // First weights and the batches as safetensors; a batch's features are "0/image" and so on.
  void write_for_peer(const std::string& folder) {
    NamedArrays weights, batches;
    for (const VariableOptions& v : replicas_->model().variables())
      if (v.kind != VariableKind::slot) weights.emplace(v.name, store().read(v.name));
    for (std::size_t i = 0; i < work_.batches.size(); ++i)
      for (const auto& [name, array] : work_.batches[i])
        batches.emplace(concat(i, "/", name), array);
    save_safetensors(folder + "/weights", weights);
    save_safetensors(folder + "/batches", batches);
  }

  // A plan for each sub-step.
  const std::vector<std::shared_ptr<const Plan>>& plans() const { return plans_; }
  VariableStore& store() { return session_.state()->variables().store(0); }
  StepTimes take_times() { return std::exchange(times_, {}); }

 private:
  std::vector<TraceEntry> run_round(bool trace) {
    std::vector<TraceEntry> entries;
    int number = 0;
    for (const SubStep& part : round()) {
      if (part.fresh_batch) driver_->build(work_.batches[taken_++ % work_.batches.size()]);
      replicas_->prepare(updates_of(part));
      replicas_->start(trace, number++);
      Replicas::collect(replicas_->started());
      times_ += Replicas::times(replicas_->started());
      if (trace) Replicas::append_trace(replicas_->started(), entries);
    }
    ++session_.state()->step;
    return entries;
  }

  std::span<const SubStep> round() const { return replicas_->model().round(); }
  UpdateSet updates_of(const SubStep& part) const {
    return part.updates & replicas_->model().all_updates();
  }

  bench::Work work_;
  Session session_;
  std::optional<StepDriver> driver_;
  Replicas* replicas_ = nullptr;  // the driver's
  std::vector<std::shared_ptr<const Plan>> plans_;
  std::size_t taken_ = 0;
  StepTimes times_;
};

constexpr int warm_up = 3, kept_losses = 20;

struct Run {
  double seconds = 0, cpu_seconds = 0;  // of a step: medians
  StepTimes parts;
  std::vector<double> losses;
};

Run train(Trainer& trainer, int steps) {
  Run out;
  std::vector<double> times, cpu_times;
  for (int i = 0; i < steps + warm_up; ++i) {
    if (i == warm_up) trainer.take_times();
    double start = monotonic_seconds();
    std::clock_t cpu_start = std::clock();
    double loss = trainer.step();
    double seconds = monotonic_seconds() - start;
    if (i < kept_losses) out.losses.push_back(loss);
    if (i < warm_up) continue;
    times.push_back(seconds);
    cpu_times.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }
  out.parts = trainer.take_times() / steps;
  out.seconds = bench::median(times);
  out.cpu_seconds = bench::median(cpu_times);
  return out;
}

void run(const Arguments& args) {
  require(args.steps >= 1, "--steps must be at least 1, got ", args.steps);
  RunConfig config = run_config_from_json(args.config);
  config.threads = args.threads;
  config.devices.clear();
  for (int i = 0; i < args.towers; ++i) config.devices.push_back("cpu:" + text(i));
  Trainer trainer(args, config);
  if (!args.exchange.empty()) trainer.write_for_peer(args.exchange);
  if (args.profile)
    for (const auto& plan : trainer.plans()) std::fputs(explain(*plan).c_str(), stderr);
  if (args.choices) {
    for (const auto& plan : trainer.plans())
      bench::print_conv_choices(*plan, trainer.store().device());
    return;
  }
  Run done = train(trainer, args.steps);
  if (args.profile)
    for (const auto& [op, seconds] : trainer.traced_step())
      std::fprintf(stderr, "%9.3f ms  in the step: %s\n", seconds * 1e3, op.c_str());

  double flops = 0, arena = 0;
  Rate convolutions;
  for (const auto& plan : trainer.plans()) {
    flops += plan->flops;
    arena = std::max(arena, static_cast<double>(plan->arena_bytes));  // they share it
    if (args.convolutions || args.profile)
      add_convolutions(convolutions, *plan, trainer.store().device(), args.profile);
  }
  double gflops = args.towers * flops / done.seconds / 1e9;
  auto n = static_cast<double>(args.work.batch_size);
  std::printf(
      "{\"model\": \"%s\", \"batch_size\": %.0f, \"examples_per_second\": %.1f, \"ms_per_step\": "
      "%.3f, \"cpu_ms_per_step\": %.3f, \"plan_mb\": %.1f, \"gflops\": %.1f, ",
      args.work.model.c_str(), n, n / done.seconds, done.seconds * 1e3, done.cpu_seconds * 1e3,
      arena / 1e6, gflops);
  if (convolutions.flops > 0) {
    double alone = convolutions.flops / convolutions.seconds / 1e9;
    std::printf("\"convolution_gflops\": %.1f, \"share\": %.3f, ", alone, gflops / alone);
  }
  std::printf(
      "\"towers\": %d, \"ms_copy\": %.2f, \"ms_compute\": %.2f, \"ms_exposed_reduction\": %.2f, "
      "\"ms_hidden_reduction\": %.2f, \"ms_apply\": %.2f, \"losses\": [%s]}\n",
      args.towers, done.parts.copy * 1e3, done.parts.compute * 1e3,
      done.parts.exposed_reduction * 1e3, done.parts.hidden_reduction * 1e3, done.parts.apply * 1e3,
      join(done.losses, ", ").c_str());
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(belfry::parse(argc, argv)); });
}
