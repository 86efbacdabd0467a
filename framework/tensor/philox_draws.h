#pragma once
// Long runs of the draws that PhiloxStream makes, several at a time. Draw i of a stream depends on
// its key and on i alone, so any thread may begin anywhere.

#include <cstdint>
#include <span>

#include "belfry/framework/tensor/philox.h"

namespace belfry {

/// Draws first, first + 1, ... of PhiloxStream(key).uniform_double(): the same bits.
void uniform_draws(PhiloxKey key, std::uint64_t first, std::span<double> out);

/// A normal draw from two uniform ones (Box and Muller 1958).
double normal_of(double size, double angle);

/// Draw `index` of PhiloxStream(key).normal(): the same bits.
double normal_draw(PhiloxKey key, std::uint64_t index);

/// Draws first, first + 1, ... of PhiloxStream(key).normal(), nearly: z[i] is within
/// near_normal_error * radius[i] of the draw, whose size is radius[i] at most. So whoever wants
/// fewer digits has them at once, but for the rare number that lies between two of these. Spans of
/// one size.
void near_normal_draws(PhiloxKey key, std::uint64_t first, std::span<double> z,
                       std::span<double> radius);
inline constexpr double near_normal_error = 0x1p-40;  // a thousand times what it is

}  // namespace belfry
