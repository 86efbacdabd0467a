#pragma once
// Checks an export against a training before its first step. Internal to export/.

#include "belfry/framework/export/export_model.h"
#include "belfry/framework/train/state/variable_misfits.h"

namespace belfry {

/// check_export(); `trained`, if not null, are the variables of a training, slots included. Error,
/// too: the model reads one that is not among them, or averages where there are none.
void check_export(const ExportOptions& options, const KnownVariables* trained);

}  // namespace belfry
