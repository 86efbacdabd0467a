#pragma once
// Layers: functions that make variables under a scope and compute with them. Losses and streaming
// metrics beside them. All are compositions of ops.

#include "belfry/framework/layers/attention.h"
#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/dense.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/layers/normalization.h"
