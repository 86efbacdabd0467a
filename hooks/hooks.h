#pragma once
// Hooks to choose from. Those that train() adds by itself are in framework/train/built_in_hooks.h.

#if __cplusplus < 202002L
#error "Belfry needs C++20: compile with -std=c++20 (in CMake, cxx_std_20)"
#endif

#include "belfry/hooks/evaluate/evaluate_continuously.h"
#include "belfry/hooks/evaluate/samples.h"
#include "belfry/hooks/evaluate/train_and_evaluate.h"
#include "belfry/hooks/evaluate/validate.h"
#include "belfry/hooks/plateau.h"
#include "belfry/hooks/profile.h"
#include "belfry/hooks/range_test.h"
#include "belfry/hooks/record/log.h"
#include "belfry/hooks/record/progress.h"
#include "belfry/hooks/report/report.h"
#include "belfry/hooks/tensorboard/summaries.h"
#include "belfry/hooks/updates.h"
