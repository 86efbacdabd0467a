#include "belfry/framework/compiler/build_plan.h"
#include "belfry/framework/compiler/partition.h"
#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/compiler/recompute.h"
#include "belfry/framework/graph/verify.h"

namespace belfry {
namespace {

using Pass = std::function<Program(const Program&)>;
using OnHost = std::function<bool(int slot)>;

#ifdef NDEBUG
constexpr bool always_verify = false;
#else
constexpr bool always_verify = true;
#endif

Program rewritten(std::span<const Tensor> outputs, std::span<Node* const> effects,
                  const OnHost& on_host, const CompileOptions& options, Recomputed& recomputed) {
  auto keep = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  Program program = rewrite(outputs, effects, keep);
  if (!options.fast) return program;
  auto by_rows = [&](const Program& p) { return update_by_rows(p, on_host); };
  auto again = Pass([&](const Program& p) { return recompute(p, options.recompute, recomputed); });
  for (const Pass& pass :
       {Pass(fold_constants), Pass(merge_common_subexpressions), Pass(by_rows),
        Pass(fuse_batch_norm), Pass(fuse_bias_and_activation), Pass(fuse_elementwise), again}) {
    program = pass(program);
    if (always_verify || options.verify) verify(program);
  }
  return program;
}

}  // namespace

std::shared_ptr<const Plan> compile(std::span<const Tensor> outputs, std::span<Node* const> effects,
                                    Device& device, CompileOptions options) {
  auto on_host = [&](int) { return device.host_accessible(); };
  Recomputed recomputed;
  std::vector<Program> program;
  program.push_back(rewritten(outputs, effects, on_host, options, recomputed));
  Device* devices[] = {&device};
  auto plan = build_plans(std::move(program), devices, options)[0];
  plan->recomputed = recomputed;
  return plan;
}

std::shared_ptr<const TowerPlan> compile_tower(std::span<const Tensor> outputs,
                                               std::span<Node* const> effects,
                                               std::span<Device* const> devices,
                                               CompileOptions options) {
  auto slots = static_cast<int>(devices.size());
  check_slots(outputs, effects, slots);
  auto on_host = [&](int slot) {
    return devices[static_cast<std::size_t>(slot)]->host_accessible();
  };
  Recomputed recomputed;
  Partition parts = partition(rewritten(outputs, effects, on_host, options, recomputed), slots);
  auto plan = std::make_shared<TowerPlan>();
  plan->outputs = std::move(parts.outputs);
  if (always_verify || options.verify)
    for (const Program& own : parts.slots) verify(own);
  for (auto& own : build_plans(std::move(parts.slots), devices, options)) {
    own->recomputed = recomputed;
    plan->slots.push_back(std::move(own));
  }
  return plan;
}

}  // namespace belfry
