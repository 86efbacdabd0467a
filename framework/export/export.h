#pragma once
// Exports: trained models as files, and running them.

#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
