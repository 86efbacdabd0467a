#pragma once
// The common parts of the tests of update ops.

#include <gtest/gtest.h>

#include <vector>

#include "belfry/framework/graph/op_def.h"

namespace belfry {

/// Runs the reference kernel of an op that writes its inputs in place, with these for inputs.
inline void run_in_place(const OpDef& op, const Options& options, std::vector<Array>& arrays) {
  std::vector<ArrayView> views;
  std::vector<TensorType> types;
  for (Array& a : arrays) {
    views.push_back({a.type(), a.raw()});
    types.push_back(a.type());
  }
  EXPECT_TRUE(op.shape({op.name, types, options}).empty());
  op.reference({op.name, views, {}, options});
}

}  // namespace belfry
