#pragma once
// Ready-made model functions.

#include "belfry/models/gan/conditioning.h"
#include "belfry/models/gan/cyclegan.h"
#include "belfry/models/gan/dcgan.h"
#include "belfry/models/gan/estimators.h"
#include "belfry/models/gan/gan.h"
#include "belfry/models/gan/spectral.h"
#include "belfry/models/gan/tensor_pool.h"
#include "belfry/models/gan/translation.h"
#include "belfry/models/gan/virtual_batch_norm.h"
#include "belfry/models/lenet.h"
#include "belfry/models/make.h"
#include "belfry/models/mlp.h"
#include "belfry/models/mobilenet.h"
#include "belfry/models/resnet.h"
#include "belfry/models/unet.h"
#include "belfry/models/vgg.h"
