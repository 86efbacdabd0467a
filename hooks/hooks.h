#pragma once
// Hooks to choose from. Those that train() adds by itself are in framework/train/built_in_hooks.h.

#include "belfry/hooks/evaluate/evaluate_continuously.h"
#include "belfry/hooks/evaluate/samples.h"
#include "belfry/hooks/evaluate/train_and_evaluate.h"
#include "belfry/hooks/evaluate/validate.h"
#include "belfry/hooks/profile.h"
#include "belfry/hooks/record/log.h"
#include "belfry/hooks/record/progress.h"
#include "belfry/hooks/report/report.h"
#include "belfry/hooks/tensorboard/summaries.h"
#include "belfry/hooks/updates.h"
