#pragma once
// The predictions of a model that began with weights of another framework, against that
// framework's.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "../bench/warm_started.h"

namespace belfry {

/// Error unless logits [n, ...] agree to 1e-4 of the largest; rows must differ by 1e-2 of it at
/// least, or else anything would agree.
inline void check_logits(const Array& ours, const Array& theirs) {
  require(ours.shape() == theirs.shape(), "logits: ", ours.shape(), " and ", theirs.shape());
  std::int64_t row = theirs.elements() / theirs.shape()[0];
  double largest = 0, difference = 0, spread = 0;
  for (std::int64_t i = 0; i < theirs.elements(); ++i) {
    largest = std::max(largest, std::abs(theirs.at(i)));
    spread = std::max(spread, std::abs(theirs.at(i) - theirs.at(i % row)));
    double apart = std::abs(ours.at(i) - theirs.at(i));
    if (!(apart <= difference)) difference = apart;
  }
  require(difference <= 1e-4 * largest, "logits differ by ", difference / largest,
          " of the largest");
  require(spread > 1e-2 * largest, "the rows' logits are alike");
}

/// Features by name, and `logits` apart.
inline std::pair<Features, Array> features_and_logits(const std::string& path) {
  std::pair<Features, Array> out;
  for (const auto& [name, array] : load_safetensors(path).tensors) {
    if (name == "logits") {
      out.second = array;
    } else {
      out.first.set(name, array);
    }
  }
  return out;
}

/// `path` has the features of a batch and the other's `logits`, to which ours must agree.
inline void check_warm_logits(const std::string& model, const std::string& from,
                              const std::string& path) {
  auto [features, theirs] = features_and_logits(path);
  check_logits(bench::warm_logits(bench::source_of(model), from, features), theirs);
}

}  // namespace belfry
