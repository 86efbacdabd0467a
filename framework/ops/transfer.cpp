#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

std::vector<TensorType> send_shape(const ShapeContext& c) {
  const TensorType& type = c.as<TransferOptions>().type;
  ensure(c.inputs.size() == 1 && c.inputs[0] == type, "send: expected one value of type ", type);
  return {};
}

std::vector<TensorType> receive_shape(const ShapeContext& c) {
  return {c.as<TransferOptions>().type};
}

}  // namespace

const OpDef send_op{.name = "send", .shape = send_shape};
const OpDef receive_op{.name = "receive", .shape = receive_shape};

}  // namespace belfry
