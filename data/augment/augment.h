#pragma once
// Augmentation: random changes of images, masks and volumes, and what prepares examples, each a
// value for data::map.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/colors/color.h"
#include "belfry/data/augment/colors/normalize.h"
#include "belfry/data/augment/composition.h"
#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/crop.h"
#include "belfry/data/augment/geometry.h"
#include "belfry/data/augment/mix.h"
#include "belfry/data/augment/options.h"
#include "belfry/data/augment/resized_crop.h"
#include "belfry/data/augment/string_lookup.h"
#include "belfry/data/augment/volumes/volume.h"
