#include "belfry/framework/compiler/reference_use.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "belfry/framework/compiler/roofline.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/framework/ops/defs.h"

namespace belfry {
namespace {

/// The op and the type that it computes in: f64 if it reads that, else the type of what it makes
/// or, having no outputs, of what it writes, which is an input.
std::string name_of(const Node& node) {
  DType dtype = node.outputs().empty() ? node.inputs().back().dtype() : node.output().dtype;
  for (const Tensor& t : node.inputs())
    if (t.dtype() == DType::f64) dtype = DType::f64;
  return concat(node.op().name, " ", dtype);
}

std::string percent(double fraction) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.1f %%", 100 * fraction);
  return buffer.data();
}

bool suits_a_reference(const Node& node) {
  for (const OpDef* op :
       {&gather_op, &gather_grad_op, &embedding_lookup_op, &check_range_op, &assign_op})
    if (node.is(*op)) return true;
  return std::none_of(node.inputs().begin(), node.inputs().end(),
                      [](const Tensor& t) { return is_floating(t.dtype()); });
}

}  // namespace

std::vector<ReferenceUse> reference_use(const Plan& plan) {
  double all = 0;
  std::map<std::string, ReferenceUse> by_name;
  for (const Instruction& i : plan.instructions) {
    if (i.role != Instruction::Role::compute) continue;
    const Node& node = *i.node;
    double bytes = bytes_touched(node);
    all += bytes;
    if (i.kernel->implementation() != "reference" || suits_a_reference(node)) continue;
    ReferenceUse& use = by_name[name_of(node)];
    ++use.kernels;
    use.bytes += bytes;
    if (node.op().flops) use.flops += node.op().flops(node);
  }
  std::vector<ReferenceUse> out;
  for (auto& [name, use] : by_name) {
    use.what = name;
    use.fraction = all > 0 ? use.bytes / all : 0;
    out.push_back(std::move(use));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](auto& a, auto& b) { return a.fraction > b.fraction; });
  return out;
}

std::string describe_reference_use(const Plan& plan) {
  std::vector<ReferenceUse> uses = reference_use(plan);
  int kernels = 0;
  double fraction = 0;
  for (const ReferenceUse& use : uses) kernels += use.kernels, fraction += use.fraction;
  if (kernels == 0) return {};
  constexpr std::size_t most = 3;
  std::vector<std::string> largest;
  for (const ReferenceUse& use : uses)
    if (largest.size() < most) largest.push_back(concat(use.what, " ", percent(use.fraction)));
  return concat(kernels, kernels == 1 ? " kernel, " : " kernels, ", percent(fraction),
                " of the bytes read and written: ", join(largest, ", "),
                uses.size() > most ? ", ..." : "");
}

bool references_are_noticeable(const Plan& plan) {
  double fraction = 0, bytes = 0;
  for (const ReferenceUse& use : reference_use(plan)) fraction += use.fraction, bytes += use.bytes;
  return fraction >= 0.005 && bytes >= 1024 * 1024;
}

}  // namespace belfry
