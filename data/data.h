#pragma once
// Input pipelines: sources, transforms and the datasets they make. `cv::Mat` views of arrays are in
// belfry/data/opencv.h, which is not included here.

#include "belfry/data/augment.h"
#include "belfry/data/cache.h"
#include "belfry/data/combine.h"
#include "belfry/data/dataset.h"
#include "belfry/data/digits.h"
#include "belfry/data/errors.h"
#include "belfry/data/files.h"
#include "belfry/data/formats/idx.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/grouping.h"
#include "belfry/data/media.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/selection.h"
#include "belfry/data/sources.h"
#include "belfry/data/structure.h"
#include "belfry/data/transforms.h"
