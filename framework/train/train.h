#pragma once
// Estimators, and what belongs to them.

#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/hook.h"
#include "belfry/framework/train/live_predictor.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/replicated.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/step_sums.h"
#include "belfry/framework/train/train_control.h"
#include "belfry/framework/train/training.h"
#include "belfry/framework/train/warm_start.h"
#include "belfry/framework/train/weights.h"
