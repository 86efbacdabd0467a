#pragma once
// Belfry: Estimator-style training of neural networks. Data is in <belfry/data.h>, ready-made hooks
// in <belfry/hooks.h>, models in <belfry/models.h>. Those who write ops or optimizers include
// <belfry/ops.h>, those who write devices <belfry/backend.h>.

#if __cplusplus < 202002L
#error "Belfry needs C++20: compile with -std=c++20 (in CMake, cxx_std_20)"
#endif

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/units.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/distribute/workers.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/layers/recurrent.h"
#include "belfry/framework/layers/scan.h"
#include "belfry/framework/layers/transformers.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/replicated.h"
#include "belfry/framework/train/warm_start.h"
