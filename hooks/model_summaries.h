#pragma once
// EstimatorSpec::summaries, as values to show.

#include <string>
#include <vector>

#include "belfry/framework/train/summary.h"
#include "belfry/hooks/summary_values.h"

namespace belfry::hooks {

/// An image [h, w, c] as u8. Floating values from 0 to 1 become 0 to 255; those outside are taken
/// for the nearest, NaN for 0.
Array as_pixels(const Array& image);

/// The images of a summary of images: as_pixels() of each.
std::vector<Array> images_of(const SummaryValue& summary);

/// The texts of a summary of texts, each up to its first 0.
std::vector<std::string> texts_of(const SummaryValue& summary);

/// The values by which TensorBoard shows a summary, under its name; images are under
/// `name/image/0`, `name/image/1` and so on, as TensorFlow names them. Several texts are the rows
/// of a table.
std::vector<EventValue> shown_values(const SummaryValue& summary);

}  // namespace belfry::hooks
