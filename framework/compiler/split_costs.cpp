#include "belfry/framework/compiler/split_costs.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/compiler/step_values.h"
#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

constexpr double least_seconds = 1e-9;  // of a node, also where its tensors are empty

// Results of a pass that nothing in it reads.
std::vector<Tensor> results_of(const SplitPass& pass) {
  std::vector<Tensor> out;
  std::map<const Node*, bool> read;
  for (const Node* node : pass.nodes)
    for (const Tensor& t : node->inputs()) read[&t.node()] = true;
  for (Node* node : pass.nodes)
    if (!read[node])
      for (const Tensor& t : outputs_of(*node)) out.push_back(t);
  return out;
}

// The passes and their gradients in a graph of their own, in the order of a step, as a plan would
// have them. first_row() of a node, which nobody else needs here, says which node of a pass it goes
// with.
class Differentiated {
 public:
  Differentiated(std::span<const SplitPass> passes, const RecomputeOptions& options) {
    std::map<const Node*, int> home;
    std::vector<Tensor> roots;
    for (const SplitPass& pass : passes) {
      for (std::size_t i = 0; i < pass.nodes.size(); ++i) home[pass.nodes[i]] = i;
      for (const SplitTarget& target : pass.targets) {
        roots.push_back(target.loss);
        roots.insert(roots.end(), target.variables.begin(), target.variables.end());
      }
      if (!pass.targets.empty()) continue;
      for (const Tensor& t : results_of(pass)) roots.push_back(t);
    }
    std::vector<int> homes;  // by id of the copy
    program_ = rewrite(roots, {}, [&](const Node& old, Rewriting&) {
      auto found = home.find(&old);
      homes.push_back(found == home.end() ? 0 : found->second);
      return std::optional<std::vector<Tensor>>();
    });
    for (std::size_t i = 0; i < homes.size(); ++i)
      program_.graph->place(program_.graph->node(i), homes[i]);
    if (!passes[0].targets.empty()) program_.outputs = gradients_of(passes);
    // Passes fuse nothing across devices: what these said until now is first_row() from here on.
    program_ = rewrite(program_, [](const Node& old, Rewriting& to) {
      return std::optional(outputs_of(to.graph().add(old.op(), to.inputs(old), old.options(),
                                                     {old.scope(), 0, old.phase(), old.device()})));
    });
    auto without_masks = [](int) { return true; };
    program_ = fuse_bias_and_activation(fuse_batch_norm(convolve_parts(program_), without_masks));
    Recomputed done;
    if (!passes[0].targets.empty()) program_ = recompute(program_, options, done);
  }

  const Program& program() const { return program_; }

 private:
  // The last pass's come first, as in a training.
  std::vector<Tensor> gradients_of(std::span<const SplitPass> passes) {
    std::vector<Tensor> sums;
    std::size_t end = program_.outputs.size();
    for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
      for (const SplitTarget& target : pass->targets) end -= 1 + target.variables.size();
      std::size_t next = end, sum = 0;
      for (const SplitTarget& target : pass->targets) {
        std::span<const Tensor> variables(program_.outputs.data() + next + 1,
                                          target.variables.size());
        std::vector<Tensor> own = gradients(program_.outputs[next], variables);
        next += 1 + variables.size();
        for (const Tensor& gradient : own) {
          if (sum == sums.size()) sums.emplace_back();
          Tensor& total = sums[sum++];
          if (gradient.defined()) total = total.defined() ? total + gradient : gradient;
        }
      }
    }
    std::erase_if(sums, [](const Tensor& t) { return !t.defined(); });
    return sums;
  }

  Program program_;
};

// How many times a variable's bytes are there: itself and its optimizer slots.
std::map<std::string_view, int> copies_of_variables(std::span<const SplitPass> passes) {
  std::map<std::string_view, int> copies;
  for (const SplitTarget& target : passes[0].targets)
    for (const Variable& v : target.variables)
      copies[v.node().as<VariableOptions>().name] += target.optimizer_slots;
  return copies;
}

}  // namespace

SplitCosts::SplitCosts(std::span<const SplitPass> passes, const SplitOptions& options)
    : devices_(options.devices),
      passes_(passes.size()),
      rates_(options.recompute.rates),
      work_(passes[0].nodes.size()) {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Node& node = *passes[0].nodes[i];
    work_[i] = least_seconds + seconds_to_compute(node, node.inputs(), options.recompute.rates);
  }
  Differentiated step(passes, options.recompute);
  const Program& program = step.program();
  auto live = live_nodes(*program.graph, program.outputs, {});
  auto copies = copies_of_variables(passes);
  std::vector<std::vector<int>> items_of(program.graph->size());
  for (const auto& node : *program.graph)
    if (live[node->id()]) add_step(*node, items_of);
  for (const Tensor& t : program.outputs) items_[items_of[t.node().id()][t.index()]].output = true;
  for (const Node* v : program.graph->variables()) {
    const auto& own = items_of[v->id()];
    if (own.empty()) continue;
    const std::string& name = v->as<VariableOptions>().name;
    Item& item = items_[own[0]];
    item.variable = true;
    item.kept = item.bytes * (1 + copies[name]);
    if (options.device_of_variable)
      if (auto device = options.device_of_variable(name)) item.device = *device;
  }
}

void SplitCosts::add_step(const Node& node, std::vector<std::vector<int>>& items_of) {
  auto items = [&](const Tensor& t) { return items_of[t.node().id()][t.index()]; };
  auto& own = items_of[node.id()];
  if (node.op().view) {
    own = {items(node.input(0))};
    return;
  }
  Step step{.home = static_cast<int>(node.first_row()),
            .seconds = least_seconds + seconds_to_compute(node, node.inputs(), rates_)};
  for (const Tensor& t : node.inputs()) step.inputs.push_back(items(t));
  for (const TensorType& type : node.outputs()) {
    own.push_back(items_.size());
    items_.push_back(
        {.bytes = type.bytes(), .maker = is_leaf(node) ? -1 : static_cast<int>(steps_.size())});
  }
  if (is_leaf(node)) return;
  step.outputs = own;
  for (int i : may_overwrite(node))
    if (items_[step.inputs[i]].bytes == node.output(0).bytes())
      step.overwrites.push_back(step.inputs[i]);
  steps_.push_back(std::move(step));
}

namespace {

struct Life {
  int first = -1, last = -1;  // instructions of its device; -1: it is not there
};

// Values on devices while a step goes on: each device has a clock that counts its own instructions,
// and knows of those of others what has come to it with values (see memory_planner.h).
class Lives {
 public:
  Lives(std::size_t items, int devices)
      : devices_(devices),
        lives_(items * devices_),
        told_(items * devices_),
        known_(devices_ * devices_),
        now_(devices_) {}

  Life& at(int item, int device) { return lives_[row(item) + device]; }
  /// The number of the device's next instruction.
  int begin(int device) { return now_[device]++; }
  int end(int device) const { return now_[device]; }

  void make(int item, int device, int now) {
    at(item, device) = {now, now};
    std::copy_n(known_.begin() + row(device), devices_, told_.begin() + row(item));
    told_[row(item) + device] = now + 1;
  }
  /// The device reads it first; another device has made it.
  void receive(int item, int device) {
    at(item, device).first = told_[row(item) + device];
    for (std::size_t s = 0; s < devices_; ++s)
      known_[row(device) + s] = std::max(known_[row(device) + s], told_[row(item) + s]);
  }

 private:
  std::size_t row(int number) const { return number * devices_; }

  std::size_t devices_;
  std::vector<Life> lives_;
  std::vector<int> told_;   // by item: what its maker knew of each device
  std::vector<int> known_;  // by device
  std::vector<int> now_;
};

}  // namespace

// One placement, step after step.
class SplitCosts::Run {
 public:
  Run(const SplitCosts& costs, std::span<const int> device_of)
      : costs_(costs),
        device_of_(device_of),
        lives_(costs.items_.size(), costs.devices_),
        owners_(costs.items_.size(), -1),
        began_(costs.steps_.size()),
        busy_(costs.devices_) {
    cost_.bytes.resize(busy_.size());
  }

  Cost cost() {
    for (std::size_t i = 0; i < costs_.steps_.size(); ++i) begin(i);
    for (std::size_t i = 0; i < owners_.size(); ++i)
      if (costs_.items_[i].output && owners_[i] >= 0)
        lives_.at(i, owners_[i]).last = lives_.end(owners_[i]);
    for (std::size_t i = 0; i < costs_.steps_.size(); ++i) compute_in_place(i);
    for (int device = 0; device < costs_.devices_; ++device) cost_.bytes[device] += peak(device);
    add_times();
    return std::move(cost_);
  }

 private:
  const Item& item(int i) const { return costs_.items_[i]; }
  int device_of(const Step& step) const { return device_of_[step.home]; }

  void begin(std::size_t i) {
    const Step& step = costs_.steps_[i];
    int device = device_of(step), now = began_[i] = lives_.begin(device);
    for (int input : step.inputs) read(input, device, now);
    for (int output : step.outputs) {
      owners_[output] = device;
      lives_.make(output, device, now);
    }
    busy_[device] += step.seconds;
  }

  void read(int input, int device, int now) {
    const Item& value = item(input);
    int& owner = owners_[input];
    Life& life = lives_.at(input, device);
    if (value.variable && owner < 0) {
      owner = value.device >= 0 ? value.device : device;
      cost_.bytes[owner] += value.kept;
    }
    bool first = life.first < 0;
    if (value.is_input()) {  // everybody has it
      if (first) cost_.bytes[device] += value.bytes;
      life.first = 0;
    } else if (first && owner != device) {
      lives_.receive(input, device);
      sent_ += value.bytes;
    }
    life.last = now;
  }

  // An output may take the place of an input that dies there.
  void compute_in_place(std::size_t i) {
    const Step& step = costs_.steps_[i];
    if (step.outputs.empty()) return;
    int device = device_of(step);
    auto dies = [&](int input) {
      return item(input).maker >= 0 && lives_.at(input, device).last == began_[i];
    };
    if (std::ranges::any_of(step.overwrites, dies)) ++lives_.at(step.outputs[0], device).first;
  }

  std::int64_t peak(int device) {
    std::vector<std::int64_t> change(lives_.end(device) + 2);
    for (int i = 0; i < std::ssize(owners_); ++i) {
      const Life& life = lives_.at(i, device);
      bool own = item(i).variable && owners_[i] == device;
      if (life.last < 0 || own || item(i).is_input()) continue;
      change[life.first] += item(i).bytes;
      change[static_cast<std::size_t>(life.last) + 1] -= item(i).bytes;
    }
    std::int64_t live = 0, most = 0;
    for (std::int64_t c : change) most = std::max(most, live += c);
    return most;
  }

  // While one device has a micro-batch the others have other ones, but at the ends (Huang et al.,
  // "GPipe", 2019, section 2.3).
  void add_times() {
    double sum = std::max(std::accumulate(busy_.begin(), busy_.end(), 0.0), least_seconds);
    double longest = *std::ranges::max_element(busy_);
    cost_.seconds = longest + (sum - longest) / costs_.passes_ + sent_ / costs_.rates_.sent_bytes;
    double bytes = std::accumulate(cost_.bytes.begin(), cost_.bytes.end(), std::int64_t{1});
    double enough = 1 / (16 * static_cast<double>(busy_.size()));
    for (std::size_t s = 0; s < busy_.size(); ++s) {
      double fraction = std::max(busy_[s] / sum, cost_.bytes[s] / bytes);
      cost_.idle_devices += std::max(0.0, 1 - fraction / enough);
    }
  }

  const SplitCosts& costs_;
  std::span<const int> device_of_;
  Lives lives_;
  std::vector<int> owners_;  // by item: its device; of leaves known when they are first read
  std::vector<int> began_;   // by step
  std::vector<double> busy_;
  double sent_ = 0;
  Cost cost_;
};

SplitCosts::Cost SplitCosts::of(std::span<const int> device_of) const {
  return Run(*this, device_of).cost();
}

}  // namespace belfry
