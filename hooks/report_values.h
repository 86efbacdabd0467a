#pragma once
// The parts that a report keeps of the arrays that it is shown. Internal to hooks/.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/tensor/array.h"
#include "belfry/framework/train/summary.h"

namespace belfry::hooks {

/// The 5th, 25th, 50th, 75th and 95th percentile: of the n values in order, number p (n - 1) / 100,
/// rounded. All are NaN if there is no value, or one that is not finite.
std::array<double, 5> percentiles_of(const Array& values);

/// At most 16 images u8 [h, w, c] of an array [n, h, w, c], or [h, w, c], with c of 1, 3 or 4: u8,
/// or floating from 0 to 1. Of more than 512 pixels a side, every second row and column, or third,
/// and so on. Error, naming `name`: another type or shape.
std::vector<Array> shown_images(const Array& images, std::string_view name);

/// texts_of() a summary of texts as a line each; at most 10,000 bytes.
std::string shown_text(const SummaryValue& summary);

}  // namespace belfry::hooks
