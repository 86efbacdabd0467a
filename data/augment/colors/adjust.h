#pragma once
// Changes of colour by numbers already drawn; for brightness and its kin, and for color_jitter.

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Each overwrites `image`, [h, w, c] u8 or f32. Error naming its channels where there must be 1
/// or 3.
void adjust_brightness(Array& image, double factor);
void adjust_contrast(Array& image, double factor);
void adjust_saturation(Array& image, double factor);
void adjust_hue(Array& image, double turns);

/// Error unless `image` has 1 or 3 channels.
void check_color(const Array& image);

}  // namespace belfry::data
