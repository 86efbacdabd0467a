#pragma once
// Ready-made model functions.

#include "belfry/models/gan/dcgan.h"
#include "belfry/models/gan/gan.h"
#include "belfry/models/lenet.h"
#include "belfry/models/resnet.h"
