#pragma once
// Distributions that PhiloxStream does not have.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/data/augment/options.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

double draw(Range range, PhiloxStream& random);
std::int64_t draw(WholeRange range, PhiloxStream& random);
std::int64_t draw_below(std::int64_t bound, PhiloxStream& random);  ///< 0 .. bound - 1
bool draw_event(double probability, PhiloxStream& random);          ///< never for 0, always for 1

/// 0 .. count - 1 in random order, all orders equally likely (Fisher and Yates).
std::vector<std::int64_t> draw_permutation(std::int64_t count, PhiloxStream& random);

/// The logarithm of a number with the Gamma distribution of this shape and scale 1: Marsaglia and
/// Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000); shapes below 1 by
/// the note in its section 6. The logarithm, since for small shapes the number itself is often too
/// small for a double.
double draw_log_gamma(double shape, PhiloxStream& random);

/// A number in [0, 1] with the Beta(a, b) distribution: X / (X + Y) with X of Gamma(a), Y of
/// Gamma(b). a and b above 0.
double draw_beta(double a, double b, PhiloxStream& random);

/// Independent numbers, uniform in [low, high), or normal with mean 0 and variance 1 (Box and
/// Muller in single precision, both numbers of each pair).
void fill_uniform(std::span<float> values, float low, float high, PhiloxStream& random);
void fill_normal(std::span<float> values, PhiloxStream& random);

}  // namespace belfry::data
