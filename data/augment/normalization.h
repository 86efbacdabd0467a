#pragma once
// The check of mean and deviation that normalize, resize_crop_into and photograph_batches share.

#include <cmath>

#include "belfry/framework/base/error.h"

namespace belfry::data {

/// Error beginning with `where` unless means are finite and deviations finite and at least 1e-6.
template <class Numbers>
void check_normalization(const char* where, const Numbers& mean, const Numbers& deviation) {
  for (auto m : mean) require(std::isfinite(m), where, "mean must be a finite number, got ", m);
  for (auto d : deviation)
    require(d >= 1e-6f && std::isfinite(d), where,
            "deviation must be finite and above 0 (at least 1e-6), got ", d);
}

}  // namespace belfry::data
