#include "belfry/framework/tensor/dtype.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace belfry {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

/// A binary float with a sign bit, `exponent_bits` and `mantissa_bits`, worked out in double.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  std::uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }

  double value(std::uint32_t bits) const {
    double sign_factor = bits & sign() ? -1 : 1;
    auto exponent = static_cast<int>((bits & ~sign()) >> mantissa_bits);
    double mantissa = bits & ((1u << mantissa_bits) - 1);
    if ((bits & ~sign()) > infinity()) return std::numeric_limits<double>::quiet_NaN();
    if ((bits & ~sign()) == infinity())
      return sign_factor * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign_factor * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign_factor
           * std::ldexp(mantissa + std::ldexp(1, mantissa_bits), exponent - bias() - mantissa_bits);
  }

  /// The nearest number of this format, halves to even; for finite x.
  std::uint32_t round(double x) const {
    std::uint32_t s = std::signbit(x) ? sign() : 0;
    double magnitude = std::fabs(x);
    int exponent = magnitude == 0 ? -10'000 : std::ilogb(magnitude);
    int step = std::max(exponent, 1 - bias()) - mantissa_bits;
    double rounded = std::nearbyint(std::ldexp(magnitude, -step));  // whole steps, ties to even
    double limit = std::ldexp(2 - std::ldexp(1, -mantissa_bits), bias());
    if (std::ldexp(rounded, step) > limit) return s | infinity();
    // Whole steps above the subnormals carry into the exponent of their own accord.
    auto exponent_field = static_cast<std::uint32_t>(std::max(exponent, 1 - bias()) + bias() - 1);
    return s | ((exponent_field << mantissa_bits) + static_cast<std::uint32_t>(rounded));
  }
};

constexpr Format bf16_format{8, 7};
constexpr Format f16_format{5, 10};

template <class Half>
class Halves : public ::testing::Test {
 public:
  static constexpr Format format = std::is_same_v<Half, BFloat16> ? bf16_format : f16_format;
};
using HalfTypes = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Halves, HalfTypes);

TYPED_TEST(Halves, AllValuesWidenExactlyAndComeBack) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    TypeParam half;
    half.bits = static_cast<std::uint16_t>(bits);
    double expected = this->format.value(bits);
    auto widened = static_cast<float>(half);
    if (std::isnan(expected)) {
      TypeParam back(widened);
      wrong += !std::isnan(widened) || !std::isnan(static_cast<float>(back))
               || (back.bits & 0x8000) != (bits & 0x8000);
    } else {
      wrong += static_cast<double>(widened) != expected
               || std::signbit(widened) != std::signbit(expected)
               || TypeParam(widened).bits != bits;
    }
  }
  EXPECT_EQ(wrong, 0);
}

// Rounding can change only where two neighbours meet: at the middle between them.
TYPED_TEST(Halves, RoundToNearestEvenAtAllMiddles) {
  int wrong = 0;
  std::uint32_t infinity = this->format.infinity();
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    double low = this->format.value(bits);
    // Above the largest number comes what would follow if the exponents went on.
    double high =
        bits + 1 < infinity ? this->format.value(bits + 1) : std::ldexp(1, this->format.bias() + 1);
    auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (std::uint32_t sign : {0u, 0x8000u}) {
      float factor = sign ? -1.0f : 1.0f;
      wrong += TypeParam(factor * middle).bits != (sign | even);
      wrong += TypeParam(factor * std::nextafter(middle, 0.0f)).bits != (sign | bits);
      wrong +=
          TypeParam(factor * std::nextafter(middle, std::numeric_limits<float>::infinity())).bits
          != (sign | (bits + 1));
    }
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(Halves, AgreeWithRoundingInDoubleOverTheWholeRangeOfFloats) {
  int wrong = 0;
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += 4099) {
    auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(value)) wrong += TypeParam(value).bits != this->format.round(value);
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(Halves, InfinityAndNaNStay) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(TypeParam(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-infinity)), -infinity);
  // A NaN whose payload lies in the bits that are cut off must not become infinity.
  auto low_payload = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(low_payload))));
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::bit_cast<float>(0xffffffffu)))));
}

TEST(DType, SizesAndNames) {
  struct Expected {
    DType dtype;
    std::size_t bytes;
    bool floating;
    const char* name;
  };
  for (Expected e :
       {Expected{DType::f64, 8, true, "f64"}, Expected{DType::f32, 4, true, "f32"},
        Expected{DType::bf16, 2, true, "bf16"}, Expected{DType::f16, 2, true, "f16"},
        Expected{DType::i64, 8, false, "i64"}, Expected{DType::i32, 4, false, "i32"},
        Expected{DType::u8, 1, false, "u8"}, Expected{DType::boolean, 1, false, "bool"}}) {
    EXPECT_EQ(size_of(e.dtype), e.bytes) << e.name;
    EXPECT_EQ(is_floating(e.dtype), e.floating) << e.name;
    EXPECT_EQ(has_16_bits(e.dtype), e.floating && size_of(e.dtype) == 2) << e.name;
    EXPECT_EQ(to_string(e.dtype), e.name);
    EXPECT_EQ(dtype_from_string(e.name), e.dtype);
    dispatch(e.dtype, [&](auto element) {
      EXPECT_EQ(dtype_of<decltype(element)>, e.dtype);
      EXPECT_EQ(sizeof(element), e.bytes);
    });
  }
}

TEST(DType, UnknownNamesAndKindsAreErrors) {
  EXPECT_THAT([] { dtype_from_string("float"); },
              ThrowsMessage<Error>(StrEq("unknown dtype `float`; expected one of f64, f32, bf16, "
                                         "f16, i64, i32, u8, bool")));
  EXPECT_THAT([] { dispatch_floating(DType::i32, "softmax", [](auto) {}); },
              ThrowsMessage<Error>(StrEq("softmax: expected a floating type, got i32")));
  EXPECT_EQ(dispatch_floating(DType::bf16, "softmax", [](auto x) { return sizeof(x); }), 2u);
}

}  // namespace
}  // namespace belfry
