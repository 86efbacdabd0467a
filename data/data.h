#pragma once
// Input pipelines: sources, transforms and the datasets they make.

#include "belfry/data/dataset.h"
#include "belfry/data/digits.h"
#include "belfry/data/idx.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/sources.h"
#include "belfry/data/transforms.h"
