#pragma once
// The summaries that a model_fn shows of itself while it trains.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

enum class SummaryKind : std::uint8_t { scalar, histogram, image, text };

/// A tensor of a training step to look at, in TensorBoard (hooks::summaries) or in a report
/// (hooks::report). It is computed in the steps for which a hook asks, and costs nothing in others.
struct Summary {
  std::string name = {};
  SummaryKind kind = SummaryKind::scalar;
  Tensor value = {};
  int images = 3;  ///< of an image: how many rows at most
};

/// A floating scalar; shown is the mean over the towers, weighted by their rows.
inline Summary scalar_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::scalar, std::move(value)};
}
/// How values of any shape are distributed: those of the first tower.
inline Summary histogram_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::histogram, std::move(value)};
}
/// [n, h, w, c] with c of 1, 3 or 4; floating from 0 to 1, or u8: the first rows of the first
/// tower.
inline Summary image_summary(std::string name, Tensor value, int images = 3) {
  return {std::move(name), SummaryKind::image, std::move(value), images};
}
/// u8, the bytes of a text or, in two dimensions, of one a row, each ended by its first 0: those of
/// the first tower.
inline Summary text_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::text, std::move(value)};
}

/// The value that a step made of a Summary.
struct SummaryValue {
  std::string name = {};
  SummaryKind kind = SummaryKind::scalar;
  Array value = {};
};

}  // namespace belfry
