#pragma once
// Two half circles of points, and a network that tells them apart.

#include <belfry/data.h>
#include <belfry/framework.h>

/// `count` points "point" f32 [2] and "label" i64 [], 0 or 1; another seed gives others.
belfry::Dataset moons(std::int64_t count, std::uint64_t seed);

/// Predictions: "label" i64 [n]. Metrics: "accuracy".
belfry::EstimatorSpec classifier(belfry::Scope s, const belfry::Batch& batch, belfry::Mode mode);
