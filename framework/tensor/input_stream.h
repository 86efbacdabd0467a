#pragma once
// The seam between data and training: a stream of batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belfry/framework/tensor/features.h"

namespace belfry {

/// Yields batches one after the other. data::Dataset converts to it; anything may implement it.
/// Thread rules: used by one thread at a time.
class InputStream {
 public:
  virtual ~InputStream() = default;

  /// Puts the next batch into `batch` and returns true, or returns false at the end of data (and on
  /// every later call). Error: the element could not be produced; the next call goes on after it.
  virtual bool next(Features& batch) = 0;

  /// The position as text: restored into a stream made by the same input_fn, it continues with the
  /// batch that this one would yield next. Streams that cannot resume return an empty string.
  virtual std::string save() const { return {}; }
  /// Error when `state` is not one that such a stream saved.
  virtual void restore(const std::string& state);

  /// Seconds that next() has spent waiting for data, in total.
  virtual double wait_seconds() const { return 0; }
};

using InputStreamPtr = std::unique_ptr<InputStream>;

/// Makes a fresh stream. Called once per train, evaluate or predict call. Any callable whose result
/// converts to InputStreamPtr will do: `Dataset train_input()` is one, and so is a Dataset.
using InputFn = std::function<InputStreamPtr()>;

}  // namespace belfry
