// Gradients of tables stay rows and indices up to the optimizer, where that gives the same bits.

#include <numeric>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/update/rows_update.h"

namespace belfry {
namespace {

using Uses = std::vector<std::vector<int>>;
using Lookups = std::vector<const Node*>;  // gather_grad, in the order in which they are added up

// The look-ups whose gradients add up to this one; empty when it is made of anything else, is read
// elsewhere too, or is added up in an order other than one after the other.
Lookups lookups_of(const Tensor& gradient, const Uses& uses) {
  const Node& node = gradient.node();
  if (uses[node.id()][0] != 1) return {};
  if (node.is(gather_grad_op))
    return node.as<GatherGradOptions>().axis == 0 ? Lookups{&node} : Lookups{};
  if (!node.is(functor::Add::op) || node.input(0).type() != node.input(1).type()) return {};
  Lookups sum = lookups_of(node.input(0), uses), last = lookups_of(node.input(1), uses);
  if (last.size() > 1) std::swap(sum, last);  // operands have no order
  if (sum.empty() || last.size() != 1) return {};
  sum.push_back(last[0]);
  return sum;
}

// With more look-ups a pass over the whole table is as fast.
bool pays(const Lookups& lookups, std::int64_t rows) {
  std::int64_t count = 0;
  for (const Node* node : lookups) count += node->input(1).shape().elements();
  return !lookups.empty() && 2 * count <= rows;
}

// One update node, taken apart into variables that are updated as a whole and those by rows.
class Split {
 public:
  Split(const Node& update, const RowsForm& form, const Uses& uses)
      : update_(update), form_(form), layout_(form.layout(update)) {
    for (int g = 0; g < layout_.groups(update.inputs().size()); ++g) {
      const Shape& shape = update.input(layout_.variable(g)).shape();
      Lookups lookups;
      if (form.keeps_idle_rows(update, shape.rank()))
        lookups = lookups_of(update.input(layout_.gradient(g)), uses);
      if (pays(lookups, shape.rank() > 0 ? shape[0] : 0))
        by_rows_.emplace_back(g, std::move(lookups));
      else
        whole_.push_back(g);
    }
  }

  bool any_by_rows() const { return !by_rows_.empty(); }

  void add(Rewriting& to) const {
    if (!whole_.empty()) add_whole(to);
    std::vector<Tensor> inputs = scalars(to);
    std::vector<int> counts;
    for (const auto& [g, lookups] : by_rows_) {
      inputs.push_back(to(update_.input(layout_.variable(g))));
      for (int k = 0; k < layout_.slots; ++k)
        inputs.push_back(to(update_.input(layout_.slot(g, k))));
      for (const Node* lookup : lookups)
        for (int i : {0, 1}) inputs.push_back(to(lookup->input(i)));
      counts.push_back(lookups.size());
    }
    apply(form_.rows_update, std::move(inputs), form_.options(update_, std::move(counts)));
  }

 private:
  void add_whole(Rewriting& to) const {
    std::vector<Tensor> inputs = scalars(to);
    for (int g : whole_)
      for (int i = 0; i < layout_.group_size(); ++i)
        inputs.push_back(to(update_.input(layout_.variable(g) + i)));
    apply(form_.update, std::move(inputs), update_.options());
  }

  // With the condition, if there is one.
  std::vector<Tensor> scalars(Rewriting& to) const {
    std::vector<Tensor> out;
    for (int i = 0; i < layout_.variable(0); ++i) out.push_back(to(update_.input(i)));
    return out;
  }

  const Node& update_;
  const RowsForm& form_;
  UpdateLayout layout_;
  std::vector<std::pair<int, Lookups>> by_rows_;
  std::vector<int> whole_;
};

}  // namespace

Program update_by_rows(const Program& program, const std::function<bool(int device)>& on_host) {
  auto uses = use_counts(program);
  auto keep = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  auto split = [&](const Node& old, Rewriting& to) {
    const RowsForm* form = rows_form(old.op());
    if (!form || !on_host(old.device())) return false;
    Split update(old, *form, uses);
    if (!update.any_by_rows()) return false;
    update.add(to);
    return true;
  };
  return rewrite(program, keep, split);
}

}  // namespace belfry
