#include "belfry/framework/compiler/build_plan.h"
#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/graph/verify.h"

namespace belfry {
namespace {

using Pass = Program (*)(const Program&);

constexpr Pass passes[] = {fold_constants, merge_common_subexpressions, fuse_batch_norm,
                           fuse_bias_and_activation, fuse_elementwise};

#ifdef NDEBUG
constexpr bool always_verify = false;
#else
constexpr bool always_verify = true;
#endif

}  // namespace

std::shared_ptr<const Plan> compile(std::span<const Tensor> outputs, std::span<Node* const> effects,
                                    Device& device, CompileOptions options) {
  auto keep = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  Program program = rewrite(outputs, effects, keep);
  if (options.fast) {
    for (Pass pass : passes) {
      program = pass(program);
      if (always_verify || options.verify) verify(program);
    }
  }
  return build_plan(std::move(program), device, options);
}

}  // namespace belfry
