// Estimator::export_model(): exports of a live model.
#include <optional>

#include "belfry/framework/base/log.h"
#include "belfry/framework/export/check_trained.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/state/checkpoint_at.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {

void Estimator::check_export(ExportOptions options) {
  bool of_own_state = options.checkpoint.empty();
  std::optional<KnownVariables> trained;
  if (of_own_state) trained = session().state()->known();
  belfry::check_export(with_own_model(std::move(options)), trained ? &*trained : nullptr);
}

ExportOptions Estimator::with_own_model(ExportOptions options) {
  if (!options.model_fn)
    options.model_fn = [this](Scope scope, const Batch& batch, Mode mode) {
      return model_fn(std::move(scope), batch, mode);
    };
  if (!options.precision) options.precision = config_.precision;
  return options;
}

std::string Estimator::export_model(const std::string& dir, ExportOptions options) {
  bool chief = session_->towers().workers().is_chief();
  std::optional<Checkpoint> live;
  if (options.checkpoint.empty()) {
    Session& now = session();
    require(now.state()->has_state, "export: nothing was trained and ", model_dir_,
            " has no checkpoint; train first, or name ExportOptions::checkpoint");
    live = now.state()->snapshot_of_all(now.towers().workers());
  }
  if (!chief) return {};
  options = with_own_model(std::move(options));
  std::string path =
      live ? belfry::export_model(dir, options, *live) : belfry::export_model(dir, options);
  log_info("exported ", path);
  return path;
}

}  // namespace belfry
