#include <algorithm>
#include <unordered_map>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {
namespace {

std::uint64_t hash_of(const OpDef& op, std::span<const Tensor> inputs, const Options& options) {
  std::uint64_t hash = options.hash() ^ reinterpret_cast<std::uintptr_t>(&op);
  for (const Tensor& t : inputs) {
    auto id = static_cast<std::uint64_t>(t.node().id()) * 8 + t.index();
    hash = (hash ^ id) * 0x9E3779B97F4A7C15 + (hash >> 31);
  }
  return hash;
}

bool same(const Node& a, const Node& old, std::span<const Tensor> inputs) {
  return a.is(old.op()) && a.device() == old.device()
         && std::equal(a.inputs().begin(), a.inputs().end(), inputs.begin(), inputs.end())
         && a.options() == old.options();
}

bool earlier(const Tensor& a, const Tensor& b) {
  return std::pair(a.node().id(), a.index()) < std::pair(b.node().id(), b.index());
}

}  // namespace

Program merge_common_subexpressions(const Program& program) {
  std::unordered_multimap<std::uint64_t, Node*> seen;
  auto merge = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (old.is(input_op) || old.is(variable_op)) return std::nullopt;
    // Whether two reductions are equal may depend on a tower's rows, but all towers run the same.
    if (old.op().collective) return std::nullopt;
    std::vector<Tensor> inputs = to.inputs(old);
    if (old.op().commutative) std::sort(inputs.begin(), inputs.end(), earlier);
    std::uint64_t hash = hash_of(old.op(), inputs, old.options());
    auto [begin, end] = seen.equal_range(hash);
    auto found = std::find_if(begin, end,
                              [&](const auto& entry) { return same(*entry.second, old, inputs); });
    Node& node = found != end ? *found->second
                              : to.graph().add(old.op(), inputs, old.options(),
                                               to.graph().default_placement(inputs));
    if (found == end) seen.emplace(hash, &node);
    return outputs_of(node);
  };
  return rewrite(program, merge);
}

}  // namespace belfry
