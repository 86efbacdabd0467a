#pragma once
// The ops that bring a value from one device of a tower to another. The compiler makes these
// nodes where it cuts a step into one program a device; the runtime copies.

#include <string>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Both ends have the same options.
struct TransferOptions {
  int number = 0;  ///< tells the transfers of a step apart
  int from = 0;    ///< device
  int to = 0;
  std::string name;  ///< scope path and op of the value
  TensorType type;
  BELFRY_FIELDS(number, from, to, name, type)
};
/// One input, which goes to where a receive of the same number waits for it. A root: it has no
/// outputs.
extern const OpDef send_op;
/// The value that is sent; no inputs.
extern const OpDef receive_op;

}  // namespace belfry
