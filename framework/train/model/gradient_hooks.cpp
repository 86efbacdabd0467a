#include "belfry/framework/train/model/gradient_hooks.h"

#include <algorithm>

#include "belfry/framework/ops/collective.h"
#include "belfry/framework/train/model/sparse_tower_sum.h"

namespace belfry {
namespace {

class AverageGradients final : public Hook {
 public:
  explicit AverageGradients(const AverageOptions& options) : options_(options) {}

  void on_gradients(GradientStage& stage) override {
    Gradients& gradients = stage.gradients;
    if (gradients.empty() || gradients[0].gradient.graph().towers() == 1) return;
    const std::string& name = stage.update.title();
    SparseRows rows{options_.rows, options_.most_rows, options_.even_rows, options_.alike};
    std::vector<std::size_t> dense, sparse;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      (sums_sparsely(gradients[i].gradient, rows) ? sparse : dense).push_back(i);
    int number = 0;
    for (const auto& bucket : buckets(gradients, std::move(dense))) {
      std::vector<Tensor> parts;
      for (std::size_t i : bucket) parts.push_back(own_part(gradients[i].gradient, rows));
      Graph::PlacementGuard guard(parts[0].graph(), placement(gradients[bucket[0]]));
      parts = tower_sum(std::move(parts), concat("bucket ", number++, " of ", name));
      for (std::size_t k = 0; k < bucket.size(); ++k) gradients[bucket[k]].gradient = parts[k];
    }
    // After the buckets, which they would hold back: a look-up's gradient is among the last.
    for (std::size_t i : sparse) {
      Graph::PlacementGuard guard(gradients[i].gradient.graph(), placement(gradients[i]));
      gradients[i].gradient = sparse_tower_sum(gradients[i].gradient, rows);
    }
  }

 private:
  static int device(const VariableGradient& entry) { return entry.variable.node().device(); }
  // Each device's gradients are summed there.
  static Placement placement(const VariableGradient& entry) {
    const Node& maker = entry.gradient.node();
    return {maker.scope(), device(entry), maker.phase()};
  }

  // The entries of `order` in buckets, each of which is summed together. A variable that is used
  // last has its gradient first; the order in which variables were made is the same on all towers,
  // whatever their rows.
  std::vector<std::vector<std::size_t>> buckets(const Gradients& gradients,
                                                std::vector<std::size_t> order) const {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(device(gradients[a]), -gradients[a].variable.node().id())
             < std::pair(device(gradients[b]), -gradients[b].variable.node().id());
    });
    std::vector<std::vector<std::size_t>> out;
    std::int64_t bytes = 0;
    for (std::size_t i : order) {
      const Tensor& gradient = gradients[i].gradient;
      auto goes_with = [&](const VariableGradient& other) {
        return other.gradient.dtype() == gradient.dtype() && device(other) == device(gradients[i]);
      };
      bool fits =
          !out.empty() && bytes < options_.bucket.count && goes_with(gradients[out.back().back()]);
      if (!fits) out.emplace_back(), bytes = 0;
      out.back().push_back(i);
      bytes += gradient.type().bytes();
    }
    return out;
  }

  AverageOptions options_;
};

class ApplyGradients final : public Hook {
 public:
  void on_gradients(GradientStage& stage) override {
    apply_gradients(stage.update, stage.gradients, stage.condition);
  }
};

}  // namespace

std::shared_ptr<Hook> average_gradients(const AverageOptions& options) {
  return std::make_shared<AverageGradients>(options);
}

std::shared_ptr<Hook> apply_gradients() { return std::make_shared<ApplyGradients>(); }

}  // namespace belfry
