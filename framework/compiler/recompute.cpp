#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/step_values.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

using Set = StepValues::Set;
using Value = StepValues::Value;

constexpr std::int64_t least_bytes = 1 << 16;  // of a value that is worth a launch of its own
constexpr double cheap_fraction = 0.03;        // of a step's time

// Passes over memory that another kernel would wait for in any case.
bool is_cheap(const Node& node) {
  return node.is(batch_norm_train_op) || node.is(cast_op) || node.is(concat_op);
}

// Whether what the node reads is there when the backward pass begins, or is cheap, too, but for at
// most half as much as the node makes, which is then kept in its place.
bool inputs_are_there(const StepValues& step, const Set& in_scopes, const Set& cheap,
                      const Value& value) {
  std::int64_t missing = 0;
  for (const Tensor& t : StepValues::read_again(*value.node)) {
    std::size_t i = step.value_of(t);
    const Value& input = step.values()[i];
    if (!input.leaf && !cheap[i] && (in_scopes[i] || !input.read_late)) missing += input.bytes;
  }
  return 2 * missing <= value.bytes;
}

// The time to have the value again, with inputs that the forward pass alone reads.
double seconds_with_inputs(const StepValues& step, const Value& value) {
  double seconds = step.seconds_of(value);
  for (const Tensor& t : StepValues::read_again(*value.node)) {
    const Value& input = step.values()[step.value_of(t)];
    if (!input.leaf && !input.read_late) seconds += step.seconds_of(input);
  }
  return seconds;
}

// It goes in the order of execution, so that an input's part is known before its readers'. Values
// that the forward pass alone reads are among them: others may be made of them.
Set cheap_values(const StepValues& step, const Set& in_scopes) {
  Set cheap = step.none();
  double seconds = 0;
  for (std::size_t i = 0; i < cheap.size(); ++i) {
    const Value& value = step.values()[i];
    if (!value.may_be_again() || in_scopes[i] || value.bytes < least_bytes
        || !is_cheap(*value.node))
      continue;
    bool of_variables = std::ranges::all_of(
        value.node->inputs(), [&](const Tensor& t) { return t.node().is(variable_op); });
    if (of_variables || !inputs_are_there(step, in_scopes, cheap, value)) continue;
    if (value.droppable()) seconds += seconds_with_inputs(step, value);
    if (seconds > cheap_fraction * step.step_seconds()) break;
    cheap[i] = true;
  }
  return cheap;
}

// Keeps as many of these as there is room for, as they come: all at once or, where that is too
// much, of either half.
void keep_within(const StepValues& step, std::int64_t most_bytes,
                 std::span<const std::size_t> values, Set& dropped) {
  if (values.empty()) return;
  for (std::size_t i : values) dropped[i] = false;
  if (step.estimate(dropped).peak <= most_bytes) return;
  for (std::size_t i : values) dropped[i] = true;
  if (values.size() == 1) return;
  keep_within(step, most_bytes, values.first(values.size() / 2), dropped);
  keep_within(step, most_bytes, values.subspan(values.size() / 2), dropped);
}

// Each block of a row of residual ones is made again of the one before, and all of them would live
// when the last is read. So values are kept, or dropped again, as long as that takes from the peak,
// and at last those are kept that add nothing to it.
void drop_cheap_values(const StepValues& step, Set& dropped) {
  const Set without = dropped, cheap = cheap_values(step, dropped);
  for (std::size_t i = 0; i < cheap.size(); ++i) dropped[i] = dropped[i] || cheap[i];
  StepValues::Estimate found = step.estimate(dropped);
  for (bool changed = true; std::exchange(changed, false);)
    for (std::size_t i = 0; i < cheap.size(); ++i) {
      const Value& v = step.values()[i];
      if (!cheap[i] || found.when < v.made || v.last_read < found.when) continue;
      dropped[i] = !dropped[i];
      StepValues::Estimate now = step.estimate(dropped);
      changed = changed || now.peak < found.peak;
      if (now.peak < found.peak)
        found = now;
      else
        dropped[i] = !dropped[i];
    }
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < cheap.size(); ++i)
    if (cheap[i] && dropped[i]) again.push_back(i);
  keep_within(step, found.peak, again, dropped);
  if (step.estimate(without).peak <= found.peak) dropped = without;
}

// The values that are made in one of these scopes and read by the forward pass there alone.
Set values_in(const StepValues& step, const std::vector<std::string>& scopes) {
  Set all = step.none();
  for (const std::string& scope : scopes) {
    Set own = step.none();
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = step.values()[i].may_be_again() && step.values()[i].node->is_in(scope);
    for (const Node* node : step.order()) {
      // A value that is sent is read on another device, in whatever scope.
      if (StepValues::is_late(*node) || (node->is_in(scope) && !node->is(send_op))) continue;
      for (const Tensor& t : node->inputs()) own[step.value_of(t)] = false;
    }
    for (std::size_t i = 0; i < own.size(); ++i) all[i] = all[i] || own[i];
  }
  return all;
}

// Where the forward pass may be cut into segments: how many bytes of it are read across each place.
std::vector<std::int64_t> bytes_across(const StepValues& step) {
  std::vector<std::int64_t> change(step.order().size() + 1);
  for (const Value& v : step.values()) {
    if (v.leaf || StepValues::is_late(*v.node) || v.last_forward <= v.made) continue;
    change[v.made] += v.bytes;
    change[v.last_forward] -= v.bytes;
  }
  std::int64_t sum = 0;
  for (std::int64_t& c : change) c = sum += c;
  return change;
}

// Cuts the forward pass into about `segments` parts that keep as many bytes each, where the fewest
// are read across; what is, is kept, and all else dropped.
Set dropped_but_between(const StepValues& step, const std::vector<std::int64_t>& across,
                        int segments) {
  Set dropped = step.none();
  std::vector<std::int64_t> made(across.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    const Value& v = step.values()[i];
    dropped[i] = v.may_be_again();
    if (!v.droppable()) continue;
    made[v.made] += v.bytes;
    total += v.bytes;
  }
  std::vector<int> cuts;
  std::int64_t sum = 0;
  int best = -1;
  for (std::size_t at = 0; at < across.size() && std::ssize(cuts) + 1 < segments; ++at) {
    sum += made[at];
    double part = static_cast<double>(sum) * segments / std::max<std::int64_t>(total, 1);
    double next = static_cast<double>(cuts.size()) + 1;
    if (part >= next - 0.5 && (best < 0 || across[at] <= across[best])) best = at;
    if (part < next + 0.5 || best < 0) continue;
    cuts.push_back(std::exchange(best, -1));
  }
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    const Value& v = step.values()[i];
    for (int cut : cuts)
      if (v.made <= cut && cut < v.last_forward) dropped[i] = false;
  }
  return dropped;
}

// Keeps what costs the most time a byte, as long as there is room, but nothing of the scopes.
void keep_what_fits(const StepValues& step, std::int64_t most_bytes, const Set& in_scopes,
                    Set& dropped) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dropped.size(); ++i)
    if (dropped[i] && !in_scopes[i]) order.push_back(i);
  auto worth = [&](std::size_t i) {
    const Value& v = step.values()[i];
    return step.seconds_of(v) / std::max<std::int64_t>(v.bytes, 1);
  };
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  double seconds = step.estimate(dropped).seconds;
  for (std::size_t i : order) {
    dropped[i] = false;
    StepValues::Estimate now = step.estimate(dropped);
    if (now.peak <= most_bytes && now.seconds < seconds)
      seconds = now.seconds;
    else
      dropped[i] = true;
  }
}

// The cheapest of several ways to live within `most_bytes`, or the least of them.
Set dropped_within(const StepValues& step, std::int64_t most_bytes, const Set& in_scopes) {
  std::vector<std::int64_t> across = bytes_across(step);
  Set best = in_scopes;
  StepValues::Estimate found = step.estimate(best);
  for (int segments : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
    Set dropped = dropped_but_between(step, across, segments);
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] = dropped[i] || in_scopes[i];
    StepValues::Estimate estimate = step.estimate(dropped);
    if (estimate.peak <= most_bytes) {
      keep_what_fits(step, most_bytes, in_scopes, dropped);
      estimate = step.estimate(dropped);
    }
    bool fits = estimate.peak <= most_bytes, best_fits = found.peak <= most_bytes;
    bool better = fits != best_fits ? fits
                  : fits            ? estimate.seconds < found.seconds
                                    : estimate.peak < found.peak;
    if (!better) continue;
    best = std::move(dropped);
    found = estimate;
  }
  return best;
}

// Copies a program; what reads late reads what is computed again.
class Rewriter {
 public:
  Rewriter(const StepValues& step, const Set& dropped) : step_(step), dropped_(dropped) {}

  Program rewrite(const Program& program) {
    return belfry::rewrite(
        program,
        [this](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
          if (!reads_dropped(old)) return std::nullopt;
          return outputs_of(add(old, to));
        },
        [this](const Node& old, Rewriting& to) {
          return reads_dropped(old) && (add(old, to), true);
        });
  }

  int count() const { return count_; }  ///< ops that run once more

 private:
  bool is_dropped(const Tensor& t) const { return dropped_[step_.value_of(t)]; }
  bool reads_dropped(const Node& node) const {
    return StepValues::is_late(node)
           && std::ranges::any_of(node.inputs(), [&](const Tensor& t) { return is_dropped(t); });
  }
  Node& add(const Node& old, Rewriting& to) {
    std::vector<Tensor> inputs;
    for (const Tensor& t : old.inputs()) inputs.push_back(late(t, to));
    return to.graph().add(old.op(), std::move(inputs), old.options(),
                          {old.scope(), old.device(), old.phase(), old.first_row()});
  }
  Tensor late(const Tensor& t, Rewriting& to) {
    if (!is_dropped(t) || StepValues::is_late(t.node())) return to(t);
    Node*& made = again_[&t.node()];
    if (!made) {
      std::vector<Tensor> inputs;
      for (const Tensor& u : StepValues::read_again(t.node())) inputs.push_back(late(u, to));
      made = &StepValues::add_again(to.graph(), t.node(), std::move(inputs));
      const Value& value = step_.values()[step_.value_of(t)];
      if (!t.node().op().view && value.last_forward >= 0) ++count_;
    }
    return Tensor(*made, t.index());
  }

  const StepValues& step_;
  const Set& dropped_;
  std::map<const Node*, Node*> again_;
  int count_ = 0;
};

}  // namespace

Program recompute(const Program& program, const RecomputeOptions& options, Recomputed& done) {
  StepValues step(program, options.rates);
  const Set in_scopes = values_in(step, options.scopes);
  Set dropped = in_scopes;
  if (options.cheap) drop_cheap_values(step, dropped);
  if (options.most_bytes > 0 && step.estimate(dropped).peak > options.most_bytes)
    dropped = dropped_within(step, options.most_bytes, in_scopes);
  Rewriter rewriter(step, dropped);
  Program out = rewriter.rewrite(program);
  StepValues::Estimate before = step.estimate(step.none()), after = step.estimate(dropped);
  done = {.nodes = rewriter.count(),
          .saved_bytes = std::max<std::int64_t>(before.peak - after.peak, 0),
          .time_fraction = after.seconds / std::max(step.step_seconds(), 1e-9)};
  return out;
}

}  // namespace belfry
