#include "belfry/framework/ops/update/update_state.h"

#include <cstring>

#include "belfry/framework/ops/update/update_rule.h"

namespace belfry {
namespace {

using Rounding = StateRounding<StdMath>;

// One block: values, the random word of each, its bytes.
template <class Map>
void pack_block(std::span<const float> values, const std::uint32_t* random, std::uint8_t* bytes) {
  std::uint32_t largest = 0;
  for (float x : values) largest = std::max(largest, Rounding::magnitude_bits(x));
  float scale = Rounding::scale(largest);
  std::memcpy(bytes, &scale, sizeof(scale));
  for (std::size_t i = 0; i < values.size(); ++i)
    bytes[4 + i] = Map::encode(values[i], scale, random[i]);
}

using SignedMap = EightBits<StdMath, true>;
using UnsignedMap = EightBits<StdMath, false>;

}  // namespace

TensorType slot_type(const TensorType& variable, OptimizerState state) {
  if (state == OptimizerState::as_variable) return variable;
  require(variable.dtype == DType::f32, "an optimizer's state of ", state,
          " is for variables of f32, but one is ", variable,
          "; make the variable f32 or set the optimizer's `state` to as_variable");
  std::int64_t elements = variable.shape.elements();
  if (state == OptimizerState::bf16) return {variable.shape, DType::bf16};
  if (elements < least_elements_in_eight_bits) return variable;
  return {{(elements + state_block - 1) / state_block, state_block_bytes}, DType::u8};
}

OptimizerState state_of(const UpdateGroup& group) {
  if (group.slots.empty()) return OptimizerState::as_variable;
  DType dtype = group.slots[0].type().dtype;
  if (dtype == group.variable.type().dtype) return OptimizerState::as_variable;
  return dtype == DType::u8 ? OptimizerState::eight_bits : OptimizerState::bf16;
}

std::vector<float> unpack_slot(const ArrayView& slot, std::int64_t elements, bool is_signed) {
  std::vector<float> values(elements);
  for (std::int64_t i = 0; i < elements; ++i) {
    float& value = values[i];
    if (slot.dtype() == DType::bf16) {
      value = static_cast<float>(slot.as<const BFloat16>()[i]);
    } else {
      const auto* block = slot.as<const std::uint8_t>() + i / state_block * state_block_bytes;
      float scale = 0;
      std::memcpy(&scale, block, sizeof(scale));
      std::uint8_t code = block[4 + i % state_block];
      value = is_signed ? SignedMap::decode(code, scale) : UnsignedMap::decode(code, scale);
    }
  }
  return values;
}

void pack_slot(std::span<const float> values, const std::int64_t* random_state, int group, int k,
               bool is_signed, const ArrayView& slot) {
  std::vector<std::uint32_t> random(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto words = rounding_block(random_state, group, i / 4).words();
    random[i] = words[i % 4] >> (16 * k);
  }
  if (slot.dtype() == DType::bf16) {
    for (std::size_t i = 0; i < values.size(); ++i)
      slot.as<BFloat16>()[i].bits = Rounding::bf16(values[i], random[i]);
  } else {
    auto pack = is_signed ? pack_block<SignedMap> : pack_block<UnsignedMap>;
    for (std::size_t i = 0, block = 0; i < values.size(); i += state_block, ++block)
      pack(values.subspan(i, std::min<std::size_t>(state_block, values.size() - i)), &random[i],
           slot.as<std::uint8_t>() + block * state_block_bytes);
  }
}

}  // namespace belfry
