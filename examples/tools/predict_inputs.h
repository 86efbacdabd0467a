#pragma once
// The inputs of which belfry-predict makes batches.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "belfry/framework/export/predictor.h"

namespace belfry::programs {

struct PredictInputs {
  std::vector<std::string> paths;
  std::string signature;
  std::int64_t batch = 32;  ///< rows at most
  bool resize = false;      ///< images of another size than the input's
  bool raw = false;         ///< pixels 0 to 255 for a floating input too
};

/// A batch, and for each row where it is from: "a.png", "table.csv:7".
using UseBatch =
    std::function<void(const Features& batch, const std::vector<std::string>& origins)>;

/// Reads the files in their order: images, *.npy, *.npz, *.csv, and all whose names have "tfrecord"
/// in them. Images, tables and records hold raw examples: they are prepared where the signature
/// says how. Arrays are as the model takes them. Error: names the file, what was expected and what
/// is there; a file of another kind, before any is read.
void for_each_batch(const Predictor& predictor, const PredictInputs& inputs, const UseBatch& use);

}  // namespace belfry::programs
