#pragma once
// Internal to train/.

#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/input_stream.h"

namespace belfry {

/// The stream of an input_fn. Error, beginning with `caller`: there is no input_fn, or it gives
/// none.
inline InputStreamPtr open_input(const InputFn& input_fn, std::string_view caller,
                                 const InputContext& context = {}) {
  require(input_fn, caller, ": there is no input_fn");
  InputStreamPtr input = input_fn(context);
  require(input, caller, ": input_fn returned no stream");
  return input;
}

}  // namespace belfry
