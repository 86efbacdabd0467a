#pragma once
// Input pipelines: sources, transforms and the datasets they make. `cv::Mat` views of arrays are in
// belfry/data/opencv.h, which is not included here.

#if __cplusplus < 202002L
#error "Belfry needs C++20: compile with -std=c++20 (in CMake, cxx_std_20)"
#endif

#include "belfry/data/augment/augment.h"
#include "belfry/data/cache/cache.h"
#include "belfry/data/combine/combine.h"
#include "belfry/data/dataset.h"
#include "belfry/data/formats/arrays/idx.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/grouping/grouping.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/selection/selection.h"
#include "belfry/data/sources/digits.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/media.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/sources/tokens.h"
#include "belfry/data/structure.h"
#include "belfry/data/text/tokenizer.h"
#include "belfry/data/transforms/errors.h"
#include "belfry/data/transforms/transforms.h"
