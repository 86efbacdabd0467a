#pragma once
// Pictures of the digits 0 to 9: the MNIST files, and a set that needs no files.
//
// Both give {"image": f32 [28, 28, 1], from 0 (paper) to 1 (ink); "label": i64 [], 0 to 9}.

#include <cstdint>
#include <string>

#include "belfry/data/dataset.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// The part of a data set that is for training, or the one that is for testing.
enum class Split { train, test };
constexpr auto names_of(Split) { return name_list("train", "test"); }

/// MNIST from the IDX files in `directory`: train-images-idx3-ubyte and train-labels-idx1-ubyte, or
/// t10k-..., each with or without .gz. Reads the files at once (the pixels stay bytes in memory:
/// 47 MB for the training set); random access. Error naming file and offset: see read_idx(); also
/// images that are not 28 x 28, other than one label an image, and labels above 9.
Dataset mnist(const std::string& directory, Split split);

/// Options of drawn_digits().
struct DrawnDigitsOptions {
  Split split = Split::train;   ///< the two share no picture, for any seed
  std::int64_t count = 10'000;  ///< pictures, at least 0
  std::uint64_t seed = 1;       ///< keys all that is drawn
  int workers = autotune;       ///< how many are drawn at once, as for map
};

/// Digits drawn when they are asked for: a glyph in one of OpenCV's Hershey faces, in random
/// weight, under a random affine map and a smooth bending, with random contrast and noise. Picture
/// i depends on (seed, split, i) alone. Random access. Error: count below 0.
Dataset drawn_digits(const DrawnDigitsOptions& options = {});

}  // namespace belfry::data
