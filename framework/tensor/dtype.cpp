#include "belfry/framework/tensor/dtype.h"

#include <array>

namespace belfry {
namespace {

struct Info {
  DType dtype;
  std::size_t bytes;
  bool floating;
};

constexpr std::array<Info, 8> infos{{{DType::f64, 8, true},
                                     {DType::f32, 4, true},
                                     {DType::bf16, 2, true},
                                     {DType::f16, 2, true},
                                     {DType::i64, 8, false},
                                     {DType::i32, 4, false},
                                     {DType::u8, 1, false},
                                     {DType::boolean, 1, false}}};

const Info& info(DType dtype) {
  auto index = static_cast<std::size_t>(dtype);
  ensure(index < infos.size(), "unknown dtype ", index);
  return infos[index];
}

}  // namespace

std::size_t size_of(DType dtype) { return info(dtype).bytes; }
bool is_floating(DType dtype) { return info(dtype).floating; }
bool has_16_bits(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

DType dtype_from_string(std::string_view s) {
  DType dtype{};
  if (!from_name(s, dtype))
    fail("unknown dtype `", s, "`; expected one of ", join(enum_names<DType>, ", "));
  return dtype;
}

BFloat16::BFloat16(float value) {
  auto u = std::bit_cast<std::uint32_t>(value);
  if (value != value) {
    bits = (u >> 16) | 0x40;  // keep it a quiet NaN
    return;
  }
  bits = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}

Float16::Float16(float value) {
  auto u = std::bit_cast<std::uint32_t>(value);
  std::uint16_t sign = (u >> 16) & 0x8000;
  u &= 0x7fffffff;
  if (u > 0x7f800000) {
    bits = sign | 0x7e00;
  } else if (u >= 0x477ff000) {  // rounds to 65536 or more
    bits = sign | 0x7c00;
  } else if (u < 0x38800000) {  // below 2^-14: a subnormal; adding 0.5f rounds at bit 2^-24
    float shifted = std::bit_cast<float>(u) + 0.5f;
    bits = sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000);
  } else {
    u += 0xc8000fff + ((u >> 13) & 1);  // rebias the exponent by -112, round to nearest even
    bits = sign | (u >> 13);
  }
}

Float16::operator float() const {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1f;
  std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    float magnitude = mantissa * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace belfry
