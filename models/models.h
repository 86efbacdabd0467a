#pragma once
// Ready-made model functions.

#include "belfry/models/lenet.h"
#include "belfry/models/resnet.h"
