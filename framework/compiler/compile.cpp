#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/graph/verify.h"

namespace belfry {
namespace {

using Pass = std::function<Program(const Program&)>;
using OnHost = std::function<bool(int device)>;

#ifdef NDEBUG
constexpr bool always_verify = false;
#else
constexpr bool always_verify = true;
#endif

Program rewritten(std::span<const Tensor> outputs, std::span<Node* const> effects,
                  const OnHost& on_host, const CompileOptions& options) {
  auto keep = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  Program program = rewrite(outputs, effects, keep);
  if (!options.fast) return program;
  auto by_rows = [&](const Program& p) { return update_by_rows(p, on_host); };
  auto merge_statistics = [&](const Program& p) { return merge_statistics_updates(p, on_host); };
  auto fuse_norms = [&](const Program& p) { return fuse_batch_norm(p, on_host); };
  auto sum_gradients = [&](const Program& p) { return sum_relu_gradients(p, on_host); };
  auto add_gradients = [&](const Program& p) { return add_to_input_gradients(p, on_host); };
  for (const Pass& pass :
       {Pass(fold_constants), Pass(convolve_parts), Pass(merge_common_subexpressions),
        Pass(join_pads), Pass(by_rows), Pass(merge_statistics), Pass(fuse_norms),
        Pass(sum_gradients), Pass(fuse_bias_and_activation), Pass(add_gradients),
        Pass(fuse_elementwise)}) {
    program = pass(program);
    if (always_verify || options.verify) verify(program);
  }
  return program;
}

// Each device computes again what it takes for its own memory.
std::vector<std::shared_ptr<Plan>> planned(std::vector<Program> programs,
                                           std::span<Device* const> devices,
                                           const CompileOptions& options) {
  std::vector<Recomputed> recomputed(programs.size());
  for (std::size_t s = 0; s < programs.size(); ++s) {
    RecomputeOptions own = options.recompute;
    own.rates = devices[s]->host_accessible() ? rates_of_cpus : rates_of_gpus;
    if (options.fast) programs[s] = recompute(programs[s], own, recomputed[s]);
    if (always_verify || options.verify) verify(programs[s]);
  }
  auto plans = build_plans(std::move(programs), devices, options);
  for (std::size_t s = 0; s < plans.size(); ++s) plans[s]->recomputed = recomputed[s];
  return plans;
}

}  // namespace

std::shared_ptr<const Plan> compile(std::span<const Tensor> outputs, std::span<Node* const> effects,
                                    Device& device, CompileOptions options) {
  auto on_host = [&](int) { return device.host_accessible(); };
  std::vector<Program> program;
  program.push_back(rewritten(outputs, effects, on_host, options));
  Device* devices[] = {&device};
  return planned(std::move(program), devices, options)[0];
}

std::shared_ptr<const TowerPlan> compile_tower(std::span<const Tensor> outputs,
                                               std::span<Node* const> effects,
                                               std::span<Device* const> devices,
                                               CompileOptions options) {
  int count = devices.size();
  check_devices(outputs, effects, count);
  auto on_host = [&](int device) { return devices[device]->host_accessible(); };
  Partition parts = partition(rewritten(outputs, effects, on_host, options), count);
  auto plan = std::make_shared<TowerPlan>();
  plan->outputs = std::move(parts.outputs);
  for (auto& own : planned(std::move(parts.programs), devices, options))
    plan->plans.push_back(std::move(own));
  return plan;
}

}  // namespace belfry
