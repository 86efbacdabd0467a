#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "belfry/framework/compiler/memory_planner.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/compiler/reference_use.h"
#include "belfry/framework/compiler/roofline.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

// At least one space remains behind a text that fills its column.
std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(s.size() + 1, width), ' ');
  return s;
}

std::string fixed(double value, int decimals) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return buffer.data();
}

// The instruction's MB, GFLOP and, where that is known, the microseconds that it takes at least.
std::string work_columns(const Plan& plan, const Instruction& instruction) {
  Work work = work_of(instruction);
  auto column = [](double value) { return padded(value > 0 ? fixed(value, 3) : "", 10); };
  std::string out = column(work.bytes / 1e6) + column(work.flops / 1e9);
  if (plan.limits) out += column(1e6 * least_seconds(instruction, *plan.limits, plan.tf32));
  return out;
}

std::string column_names(const Plan& plan) {
  return padded("#", 5) + padded("phase", 9) + padded("op", 26) + padded("type", 28)
         + padded("kernel", 10) + padded("MB", 10) + padded("GFLOP", 10)
         + (plan.limits ? padded("us", 10) : "") + "scope\n";
}

// Lists that have an element for each layer would fill pages.
std::string brief_options(const Node& node) {
  constexpr std::size_t most = 120;
  std::string text = to_string(node.options());
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text.empty() ? "" : concat("  {", text, "}");
}

std::string line_of(const Plan& plan, std::size_t number) {
  const Instruction& instruction = plan.instructions[number];
  const Node& node = *instruction.node;
  using Role = Instruction::Role;
  bool pack = instruction.role == Role::pack, finish = instruction.role == Role::finish;
  std::string op = pack     ? "pack"
                   : finish ? concat("finish ", node.op().name)
                            : std::string(node.op().name);
  std::size_t packed = instruction.inputs.size();
  std::string types = finish       ? ""
                      : !pack      ? join(node.outputs(), ", ")
                      : packed > 1 ? concat(packed, " tensors")
                                   : to_string(node.output());
  std::string options = pack || finish ? "" : brief_options(node);
  std::string implementation(instruction.kernel ? instruction.kernel->implementation() : "");
  return padded(text(number), 5) + padded(to_string(node.phase()), 9) + padded(op, 26)
         + padded(types, 28) + padded(implementation, 10) + work_columns(plan, instruction)
         + node.scope() + options + "\n";
}

struct Tenant {
  std::string name, what;
  std::int64_t bytes;
};

std::vector<Tenant> largest_tensors(const Plan& plan, std::size_t count) {
  std::vector<Tenant> all;
  for (const PlannedBlock& b : plan.blocks)
    all.push_back(
        {b.name, concat(b.use, b.type.shape.rank() ? " " + to_string(b.type) : ""), b.bytes});
  for (const Node* v : plan.variables) {
    const auto& options = v->as<VariableOptions>();
    all.push_back({options.name, concat(options.kind, " ", options.type), options.type.bytes()});
  }
  for (const Node* n : plan.receives) {
    const auto& options = n->as<TransferOptions>();
    all.push_back({options.name, concat("received from device ", options.from, " ", options.type),
                   options.type.bytes()});
  }
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
  if (all.size() > count) all.resize(count);
  return all;
}

std::int64_t bytes_of(const std::vector<const Node*>& leaves) {
  std::int64_t total = 0;
  for (const Node* n : leaves) total += n->output().bytes();
  return total;
}

std::string row(std::string_view name, std::int64_t bytes) {
  return "  " + padded(std::string(name), 28) + bytes_text(bytes) + "\n";
}

std::string roofline_text(const Plan& plan) {
  Roofline sums = roofline_of(plan);
  std::string products = concat("products and convolutions ", fixed(sums.products.flops / 1e9, 3),
                                " GFLOP"),
              others = concat("all else ", fixed(sums.others.bytes / 1e6, 3), " MB");
  if (!plan.limits) return concat("work: ", products, ", ", others, "\n");
  auto ms = [](double seconds) { return fixed(1e3 * seconds, 3); };
  return concat("at least ", ms(sums.product_seconds + sums.other_seconds),
                " ms a step: ", products, " in ", ms(sums.product_seconds), " ms, ", others, " in ",
                ms(sums.other_seconds), " ms (", fixed(plan.limits->bytes / 1e12, 2),
                " TB/s, TFLOP/s of f32 ", fixed(plan.limits->flops / 1e12, 0), ", tf32 ",
                fixed(plan.limits->flops_tf32 / 1e12, 0), ", 16 bits ",
                fixed(plan.limits->flops_16 / 1e12, 0), ")\n");
}

}  // namespace

std::string to_string(const Recomputed& r) {
  if (r.nodes == 0) return "";
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f", 100 * r.time_fraction);
  return concat(r.nodes, r.nodes == 1 ? " op" : " ops", ", for ", bytes_text(r.saved_bytes),
                " less and about ", percent, " % more time");
}

std::int64_t Plan::variable_bytes(bool slots) const {
  std::int64_t total = 0;
  for (const Node* v : variables)
    if ((v->as<VariableOptions>().kind == VariableKind::slot) == slots)
      total += v->output().bytes();
  return total;
}

std::int64_t Plan::input_bytes() const {
  if (!staged) return bytes_of(inputs);
  std::int64_t in = 0, out = 0;
  for (const Node* node : inputs) in += staged_bytes(node->output());
  for (const Tensor& output : program.outputs) out += staged_bytes(output.type());
  return 2 * (in + staged_fault_bytes) + out;
}
std::int64_t Plan::constant_bytes() const { return bytes_of(constants); }

std::int64_t Plan::scratch_bytes() const {
  std::int64_t bytes = aligned(arena_bytes);
  if (!staged)
    for (const Node* node : inputs) bytes += aligned(node->output().bytes());
  return bytes;
}

std::int64_t Plan::bytes() const {
  return variable_bytes(false) + variable_bytes(true) + (staged ? input_bytes() : 0)
         + constant_bytes() + scratch_bytes();
}

std::vector<std::pair<MemoryUse, std::int64_t>> Plan::peak_by_use() const {
  std::vector<std::int64_t> live(instructions.size() + 1);
  for (const PlannedBlock& b : blocks)
    for (int i = b.first; i <= b.last && i < std::ssize(live); ++i) live[i] += b.bytes;
  int peak = std::max_element(live.begin(), live.end()) - live.begin();
  std::map<MemoryUse, std::int64_t> by_use;
  for (const PlannedBlock& b : blocks)
    if (b.first <= peak && peak <= b.last) by_use[b.use] += b.bytes;
  return {by_use.begin(), by_use.end()};
}

std::string explain(const Plan& plan) {
  std::string out =
      concat("plan: ", plan.instructions.size(), " kernels, ", fixed(plan.flops / 1e9, 3),
             " GFLOP a step, ", plan.threads, plan.threads == 1 ? " thread\n" : " threads\n");
  out += column_names(plan);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) out += line_of(plan, i);
  out += roofline_text(plan);
  if (std::string slow = describe_reference_use(plan); !slow.empty())
    out += concat("reference kernels, on one thread: ", slow, "\n");
  out += memory_picture(plan);
  out += concat("memory: ", bytes_text(plan.bytes()), "\n");
  out += row("parameters and statistics", plan.variable_bytes(false));
  out += row("optimizer slots", plan.variable_bytes(true));
  out += row("inputs", plan.input_bytes());
  out += row("constants", plan.constant_bytes());
  out += row("arena", plan.arena_bytes);
  for (const auto& [use, bytes] : plan.peak_by_use())
    out += row("  " + to_string(use) + " at its peak", bytes);
  if (plan.recomputed.nodes > 0)
    out += concat("computed again in the backward pass: ", plan.recomputed, "\n");
  out += "largest tensors:\n";
  for (const Tenant& t : largest_tensors(plan, 10))
    out += "  " + padded(bytes_text(t.bytes), 12) + padded(t.name, 40) + t.what + "\n";
  return out;
}

std::string explain(const TowerPlan& plan) {
  if (plan.plans.size() == 1) return explain(*plan.plans[0]);
  std::string out;
  for (std::size_t s = 0; s < plan.plans.size(); ++s)
    out += concat("device ", s, "\n", explain(*plan.plans[s]));
  return out;
}

}  // namespace belfry
