#pragma once
// Ready-made model functions.

#include "belfry/models/gan/dcgan.h"
#include "belfry/models/gan/gan.h"
#include "belfry/models/lenet.h"
#include "belfry/models/make.h"
#include "belfry/models/mlp.h"
#include "belfry/models/mobilenet.h"
#include "belfry/models/resnest.h"
#include "belfry/models/resnet.h"
#include "belfry/models/swin.h"
#include "belfry/models/unet.h"
#include "belfry/models/unet_resnest.h"
#include "belfry/models/unet_swin.h"
#include "belfry/models/vgg.h"
