#include "belfry/hooks/gradient_edits.h"

#include <cmath>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::hooks {
namespace {

struct EditGradients final : Hook {
  explicit EditGradients(std::function<Gradients(const Gradients&)> e) : edit(std::move(e)) {}
  void on_gradients(GradientStage& stage) override { stage.gradients = edit(stage.gradients); }
  std::function<Gradients(const Gradients&)> edit;
};

}  // namespace

std::shared_ptr<Hook> edit_gradients(std::function<Gradients(const Gradients&)> edit) {
  require(edit != nullptr, "edit_gradients: the function is empty");
  return std::make_shared<EditGradients>(std::move(edit));
}

std::shared_ptr<Hook> clip_by_global_norm(double max_norm) {
  require(std::isfinite(max_norm) && max_norm > 0, "clip_by_global_norm: max_norm is ", max_norm,
          "; it must be finite and above 0");
  return edit_gradients([=](const Gradients& gradients) {
    return belfry::clip_by_global_norm(gradients, max_norm).gradients;
  });
}

std::shared_ptr<Hook> clip_by_value(double limit) {
  belfry::clip_by_value({}, limit);
  return edit_gradients(
      [=](const Gradients& gradients) { return belfry::clip_by_value(gradients, limit); });
}

std::shared_ptr<Hook> clip_adaptive(AdaptiveClippingOptions options) {
  belfry::clip_adaptive({}, options);
  return edit_gradients(
      [=](const Gradients& gradients) { return belfry::clip_adaptive(gradients, options); });
}

std::shared_ptr<Hook> centralize_gradients() { return edit_gradients(centralize); }

std::shared_ptr<Hook> gradient_noise(GradientNoiseOptions options) {
  add_gradient_noise({}, options);
  return edit_gradients(
      [=](const Gradients& gradients) { return add_gradient_noise(gradients, options); });
}

std::shared_ptr<Hook> unscale_gradients(double scale) {
  unscale({}, scale);
  return edit_gradients([=](const Gradients& gradients) { return unscale(gradients, scale); });
}

}  // namespace belfry::hooks
