#include "belfry/framework/compiler/reference_use.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace belfry {
namespace {

/// Effects have no outputs: the type of what they write, which is an input.
std::string name_of(const Node& node) {
  const TensorType& type = node.outputs().empty() ? node.inputs().back().type() : node.output();
  return concat(node.op().name, " ", type.dtype);
}

std::string percent(double share) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.1f %%", 100 * share);
  return buffer.data();
}

}  // namespace

std::int64_t operand_bytes(const Instruction& instruction) {
  const Node& node = *instruction.node;
  std::int64_t bytes = 0;
  for (const TensorType& type : node.outputs()) bytes += type.bytes();
  if (instruction.role == Instruction::Role::pack) return 2 * bytes;
  for (const Tensor& t : node.inputs()) bytes += t.type().bytes();
  return bytes;
}

std::vector<ReferenceUse> reference_use(const Plan& plan) {
  double all = 0;
  std::map<std::string, ReferenceUse> by_name;
  for (const Instruction& i : plan.instructions) {
    if (!i.kernel) continue;
    auto bytes = static_cast<double>(operand_bytes(i));
    all += bytes;
    if (i.kernel->implementation() != "reference") continue;
    ReferenceUse& use = by_name[name_of(*i.node)];
    ++use.kernels;
    use.bytes += bytes;
  }
  std::vector<ReferenceUse> out;
  for (auto& [name, use] : by_name) {
    use.what = name;
    use.share = all > 0 ? use.bytes / all : 0;
    out.push_back(std::move(use));
  }
  std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.share > b.share; });
  return out;
}

std::string describe_reference_use(const Plan& plan) {
  std::vector<ReferenceUse> uses = reference_use(plan);
  int kernels = 0;
  double share = 0;
  for (const ReferenceUse& use : uses) kernels += use.kernels, share += use.share;
  if (kernels == 0) return {};
  constexpr std::size_t most = 3;
  std::vector<std::string> largest;
  for (const ReferenceUse& use : uses)
    if (largest.size() < most) largest.push_back(concat(use.what, " ", percent(use.share)));
  return concat(kernels, kernels == 1 ? " kernel, " : " kernels, ", percent(share),
                " of the bytes read and written: ", join(largest, ", "),
                uses.size() > most ? ", ..." : "");
}

bool references_are_noticeable(const Plan& plan) {
  double share = 0, bytes = 0;
  for (const ReferenceUse& use : reference_use(plan)) share += use.share, bytes += use.bytes;
  return share >= 0.005 && bytes >= 1024 * 1024;
}

}  // namespace belfry
