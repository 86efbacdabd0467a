#pragma once
// How optimizers keep their slots in fewer bits than the variables: the formats, and how a float
// becomes one. As update_functors.h, nvcc reads this file too.
//
// Slots are read into floats, updated by the rule, and rounded when they are stored. Rounding is
// stochastic: up with the probability that makes the mean of what is stored the value itself. To
// nearest, a small change would be lost each time: with beta2 = 0.999 a second moment in bf16,
// whose neighbours are 2^-8 to 2^-7 of it apart, would never fall, and steps would never grow
// again. Random numbers are counted (ops/random/random.h): element e of the g-th variable of an
// update has the numbers of element e of row g in the stream `state_stream`; slot k has the bits 16
// k to 16 k
// + 15 of its word. So a resumed run rounds as the one that was not interrupted, on any number of
// threads and towers.

#include <cstdint>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/ops/update/optimizer_state.h"

namespace belfry {

/// Elements of a block, and its bytes: the scale, then the codes.
inline constexpr std::int64_t state_block = 256;
inline constexpr std::int64_t state_block_bytes = 4 + state_block;
/// Variables of fewer elements keep slots of their own type in place of eight bits.
inline constexpr std::int64_t least_elements_in_eight_bits = 4096;

/// The stream of the random numbers that round slots. No scope path has this number.
inline constexpr std::uint64_t state_stream = 0x6f7074696d697a65;

/// How floats are rounded; `random` is a word whose lower 16 bits count. M is as in functors.h.
template <class M>
struct StateRounding {
  /// To one of two neighbours in bf16; infinity and NaN stay what they are.
  BELFRY_HOST_DEVICE static std::uint16_t bf16(float x, std::uint32_t random) {
    auto bits = __builtin_bit_cast(std::uint32_t, x);
    std::uint32_t magnitude = magnitude_bits(x);
    std::uint32_t rounded = bits + (random & 0xffff);
    std::uint32_t quiet = magnitude > 0x7f800000 ? bits | 0x400000 : bits;
    return (magnitude < 0x7f800000 ? rounded : quiet) >> 16;
  }

  /// The bits of |x|, ordered as the magnitudes are; those of NaN are the largest.
  BELFRY_HOST_DEVICE static std::uint32_t magnitude_bits(float x) {
    return __builtin_bit_cast(std::uint32_t, x) & 0x7fffffff;
  }
  /// The scale of a block, of the largest of its magnitudes' bits. Where an element is infinite or
  /// NaN, so is the scale, and no element of the block is finite.
  BELFRY_HOST_DEVICE static float scale(std::uint32_t largest) {
    return __builtin_bit_cast(float, largest);
  }
};

/// The paper's dynamic map, of slots that are Signed or never below 0. Its magnitudes have numbers:
/// `zero` is 0; then those of the middles of equal parts of seven decades, the last of which is 0.1
/// to 1, with twice as many parts in each as in the one below it; `one` is 1. Numbers are such that
/// 2^e is that of the first part of a decade, and 2^e + i that of part i. Signed codes are numbers
/// with a sign; so they have 1 in place of the middle of the last part. Arithmetic without tables,
/// which vectors are fast at; each result is rounded where every device rounds it.
template <class M, bool Signed>
struct EightBits {
  static constexpr std::int32_t zero = Signed ? 0 : 1, one = Signed ? 127 : 256;

  BELFRY_HOST_DEVICE static float decode(std::uint8_t code, float scale) {
    if constexpr (!Signed) return magnitude(code + zero) * scale;
    std::int32_t number = code < 128 ? code : 256 - code;
    float x = magnitude(number) * scale;
    return code < 128 ? x : -x;
  }

  /// The code of x, whose magnitude is at most `scale`; the code of 0 for any x where the scale is
  /// not above 0 or not finite. Where no number is below 0, one above 0 never has the code of 0: a
  /// second moment of 0 would make the largest step of the smallest gradient.
  BELFRY_HOST_DEVICE static std::uint8_t encode(float x, float scale, std::uint32_t random) {
    float part = float_of(bits_of(x) & 0x7fffffff) / scale;
    part = part <= 1 ? part : 0;  // NaN, too
    std::int32_t decade = 0;  // by sums and products: branches would keep loops from being vectors
    float to_last_decade = 1e6f;
    auto from = [&](float limit) {
      decade += part >= limit;
      to_last_decade *= factor(part >= limit, 0.1f);
    };
    from(1e-6f), from(1e-5f), from(1e-4f), from(1e-3f), from(1e-2f), from(1e-1f);
    float parts = power_of_two(decade + zero);
    float position = (part * to_last_decade - 0.1f) * parts / width - 0.5f;  // from -1 on
    std::int32_t number =
        static_cast<std::int32_t>(parts) - 1 + static_cast<std::int32_t>(position + 1);
    number = number < one ? number : one - 1;
    float low = magnitude(number), high = magnitude(number + 1);
    float chance = (static_cast<std::int32_t>(random & 0xffff)) * 0x1p-16f;
    number += part - low > chance * (high - low) ? 1 : 0;
    if constexpr (Signed) {
      number = x < 0 ? -number : number;
    } else {
      std::int32_t least = zero + (part > 0 ? 1 : 0);
      number = number > least ? number : least;
    }
    return number - zero;
  }

  BELFRY_HOST_DEVICE static float magnitude(std::int32_t number) {
    std::uint32_t bits = bits_of(number);  // 2^e (1 + i / 2^e)
    std::int32_t exponent = static_cast<std::int32_t>(bits >> 23) - 127;
    float middle = float_of((bits & 0x7fffff) | 0x3f800000) - 1 + power_of_two(-exponent - 1);
    float decade = 1;
    for (std::int32_t d = 1; d < 7; ++d) decade *= factor(exponent < d + zero, 0.1f);
    float result = decade * (0.1f + width * middle) * factor(number == zero, 0);
    return number == one ? 1 : result;
  }

 private:
  /// The width of the parts of a decade together: 0.9 in 16 bits, whose product with 8 bits is
  /// exact, so that it may be fused with a sum or not.
  static constexpr float width = 0x1.cccep-1f;

  BELFRY_HOST_DEVICE static std::uint32_t bits_of(float x) {
    return __builtin_bit_cast(std::uint32_t, x);
  }
  BELFRY_HOST_DEVICE static float float_of(std::uint32_t bits) {
    return __builtin_bit_cast(float, bits);
  }
  /// condition ? x : 1, without a branch.
  BELFRY_HOST_DEVICE static float factor(bool condition, float x) {
    std::uint32_t mask = 0 - static_cast<std::uint32_t>(condition);
    return float_of((bits_of(x) & mask) | (bits_of(1) & ~mask));
  }
  BELFRY_HOST_DEVICE static float power_of_two(std::int32_t exponent) {
    return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
  }
};

}  // namespace belfry
