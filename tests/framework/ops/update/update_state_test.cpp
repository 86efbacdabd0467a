// Covers update_state.h, update_state.cpp and what updates make of slots in fewer bits.
#include "belfry/framework/ops/update/update_state.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "../run_in_place.h"
#include "belfry/framework/ops/update/update_rule.h"

namespace belfry {
namespace {

using testing::Each;
using testing::ElementsAre;
using Rounding = StateRounding<StdMath>;

// Seed, step, first row of the batch.
using RandomState = std::array<std::int64_t, 3>;
constexpr RandomState random_numbers{7, 5, 0};

// ---- formats -----------------------------------------------------------------------------------

using Signed = EightBits<StdMath, true>;
using Unsigned = EightBits<StdMath, false>;

constexpr float share = 2e-5f;  // 0.9 is one in 16 bits only

template <class Map>
void expect_codes(const std::vector<std::pair<int, double>>& expected) {
  for (auto [code, x] : expected)
    EXPECT_NEAR(Map::decode(static_cast<std::uint8_t>(code), 1), x, x * share) << code;
}

TEST(EightBits, SignedCodes) {
  expect_codes<Signed>({{0, 0},
                        {1, 5.5e-7},                  // the middle of 1e-7 to 1e-6
                        {2, 3.25e-6},                 // of the lower half of 1e-6 to 1e-5
                        {3, 7.75e-6},                 // and of the upper
                        {4, 1e-5 + 9e-5 / 8},         // of the first quarter
                        {63, 1e-2 + 9e-2 * 63 / 64},  // of the last of 32 parts of 1e-2 to 0.1
                        {64, 0.1 + 0.9 / 128},
                        {126, 0.1 + 0.9 * 125 / 128},
                        {127, 1}});
  for (int code = 1; code < 128; ++code) {
    auto positive = static_cast<std::uint8_t>(code), negative = static_cast<std::uint8_t>(-code);
    EXPECT_GT(Signed::decode(positive, 1), Signed::decode(static_cast<std::uint8_t>(code - 1), 1));
    EXPECT_EQ(Signed::decode(negative, 1), -Signed::decode(positive, 1));
  }
}

TEST(EightBits, UnsignedCodes) {
  expect_codes<Unsigned>({{0, 0},
                          {1, 3.25e-7},
                          {2, 7.75e-7},
                          {3, 1e-6 + 9e-6 / 8},
                          {126, 1e-2 + 9e-2 * 127 / 128},  // of the last of 64 parts
                          {127, 0.1 + 0.9 / 256},
                          {254, 0.1 + 0.9 * 255 / 256},
                          {255, 1}});
  for (int code = 1; code < 256; ++code)
    EXPECT_GT(Unsigned::decode(static_cast<std::uint8_t>(code), 1),
              Unsigned::decode(static_cast<std::uint8_t>(code - 1), 1));
}

template <class Map>
void expect_rounding_between_neighbours(int first, int last) {
  for (int code = first; code <= last; ++code)
    for (float scale : {1.0f, 0.25f, 3e-30f}) {
      auto at = [&](int c) { return Map::decode(static_cast<std::uint8_t>(c), scale); };
      auto encoded = [&](float x, std::uint32_t random) {
        int c = Map::encode(x, scale, random);
        return first < 0 ? static_cast<std::int8_t>(c) : c;
      };
      for (std::uint32_t random : {1u, 0xffffu}) EXPECT_EQ(encoded(at(code), random), code);
      if (code == last || (first == 0 && code == 0)) continue;
      float middle = at(code) + (at(code + 1) - at(code)) / 2;
      int outer = code < 0 ? code : code + 1, inner = code < 0 ? code + 1 : code;
      EXPECT_EQ(encoded(middle, 0x7f00), outer) << scale;  // away from 0
      EXPECT_EQ(encoded(middle, 0x8100), inner) << scale;
    }
}

TEST(EightBits, RoundToOneOfTwoNeighbours) {
  expect_rounding_between_neighbours<Signed>(-127, 127);
  expect_rounding_between_neighbours<Unsigned>(0, 255);
}

TEST(EightBits, NoSecondMomentIsRoundedToZero) {
  EXPECT_EQ(Unsigned::encode(0, 1, 0xffff), 0);
  EXPECT_EQ(Unsigned::encode(1e-30f, 1, 0xffff), 1);
  EXPECT_EQ(Unsigned::encode(0, 0, 0xffff), 0);
  EXPECT_EQ(Signed::encode(1e-30f, 1, 0xffff), 0);
}

// 1 + 2^-8 lies in the middle of two neighbours.
TEST(StateRounding, Bf16) {
  for (std::uint32_t random : {0u, 0x7fffu, 0xabcd7fffu}) {
    EXPECT_EQ(Rounding::bf16(1 + 0x1p-8f, random), 0x3f80);
    EXPECT_EQ(Rounding::bf16(-1 - 0x1p-8f, random), 0xbf80);
  }
  for (std::uint32_t random : {0x8000u, 0xffffu}) {
    EXPECT_EQ(Rounding::bf16(1 + 0x1p-8f, random), 0x3f81);
    EXPECT_EQ(Rounding::bf16(-1 - 0x1p-8f, random), 0xbf81);
  }
  EXPECT_EQ(Rounding::bf16(1 + 0x1p-9f, 0xbfff), 0x3f80);  // a quarter of the way
  EXPECT_EQ(Rounding::bf16(1 + 0x1p-9f, 0xc000), 0x3f81);
  EXPECT_EQ(Rounding::bf16(2 - 0x1p-23f, 0xffff), 0x4000);
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (std::uint32_t random : {0u, 0xffffu}) {
    EXPECT_EQ(Rounding::bf16(0, random), 0);
    EXPECT_EQ(Rounding::bf16(-0.375f, random), 0xbec0);  // exact
    EXPECT_EQ(Rounding::bf16(inf, random), 0x7f80);
    EXPECT_EQ(Rounding::bf16(-inf, random), 0xff80);
    for (std::uint32_t nan : {0x7f800001u, 0x7fffffffu})
      EXPECT_EQ(Rounding::bf16(std::bit_cast<float>(nan), random), nan >> 16 | 0x40);
  }
}

TEST(SlotType, OfEachState) {
  TensorType large{{65, 64}, DType::f32}, small{{4095}, DType::f32}, wide{{65}, DType::f64};
  EXPECT_EQ(slot_type(large, OptimizerState::as_variable), large);
  EXPECT_EQ(slot_type(wide, OptimizerState::as_variable), wide);
  EXPECT_EQ(slot_type(large, OptimizerState::bf16), (TensorType{{65, 64}, DType::bf16}));
  EXPECT_EQ(slot_type(small, OptimizerState::bf16), (TensorType{{4095}, DType::bf16}));
  EXPECT_EQ(slot_type(large, OptimizerState::eight_bits), (TensorType{{17, 260}, DType::u8}));
  EXPECT_EQ(slot_type(small, OptimizerState::eight_bits), small);
  EXPECT_THAT([&] { slot_type(wide, OptimizerState::bf16); },
              testing::Throws<Error>(testing::Property(
                  &Error::what, testing::HasSubstr("state of bf16 is for variables of f32, but "
                                                   "one is f64[65]; make the variable f32"))));
}

// ---- whole slots -------------------------------------------------------------------------------

std::vector<float> packed_and_unpacked(const std::vector<float>& values, DType dtype,
                                       bool is_signed = true) {
  auto elements = static_cast<std::int64_t>(values.size());
  Array slot = dtype == DType::bf16
                   ? Array(Shape{elements}, dtype)
                   : Array(Shape{(elements + 255) / 256, state_block_bytes}, dtype);
  ArrayView view{slot.type(), slot.raw()};
  pack_slot(values, random_numbers.data(), 0, 0, is_signed, view);
  return unpack_slot(view, elements, is_signed);
}

TEST(PackedSlot, BlocksHaveScalesOfTheirOwn) {
  std::vector<float> values(300);
  for (std::size_t i = 0; i < 300; ++i)
    values[i] = (i < 256 ? 3.0f : 1e-20f) * (i % 2 == 0 ? Signed::decode(i % 128, 1) : -1);
  std::vector<float> again = packed_and_unpacked(values, DType::u8);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_FLOAT_EQ(again[i], values[i]) << i;
}

TEST(PackedSlot, WhatIsNotFiniteIsSeenInItsBlock) {
  for (float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> values(600, 1);
    values[300] = bad;
    std::vector<float> again = packed_and_unpacked(values, DType::u8);
    for (std::size_t i = 0; i < 600; ++i)
      EXPECT_EQ(std::isfinite(again[i]), i / 256 != 1) << bad << " " << i;
  }
}

TEST(PackedSlot, OfZerosIsZeros) {
  for (DType dtype : {DType::bf16, DType::u8})
    for (bool is_signed : {false, true})
      EXPECT_THAT(packed_and_unpacked(std::vector<float>(300), dtype, is_signed), Each(0));
}

// A third of the way from one number to the next, 30,000 times: the mean is off by the noise of a
// coin, sqrt(2 / 9 / 30,000) = 0.27 % of the distance. Four of these are allowed.
TEST(PackedSlot, RoundingHasNoBias) {
  auto mean_place = [](double low, double high, DType dtype) {
    std::vector<float> values(30'000, static_cast<float>(low + (high - low) / 3));
    for (std::size_t i = 0; i < values.size(); i += 256) values[i] = 1;  // the scale
    std::vector<float> again = packed_and_unpacked(values, dtype);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i % 256 != 0) sum += (static_cast<double>(again[i]) - low) / (high - low), ++count;
    return sum / count;
  };
  EXPECT_NEAR(mean_place(0.5, 0.5 + 0x1p-8, DType::bf16), 1 / 3.0, 0.011);
  for (int number : {0, 1, 3, 63, 64, 100, 126}) {
    float low = Signed::magnitude(number), high = Signed::magnitude(number + 1);
    EXPECT_NEAR(mean_place(low, high, DType::u8), 1 / 3.0, 0.011) << number;
    EXPECT_NEAR(mean_place(-low, -high, DType::u8), 1 / 3.0, 0.011) << number;
  }
}

// Word e % 4 of four, the lower half for slot 0 and the upper for slot 1.
TEST(PackedSlot, RandomNumbersAreThoseThatAreDocumented) {
  constexpr int group = 3;
  std::vector<float> values(37, 1 + 0x1p-8f);
  for (int k : {0, 1})
    for (std::int64_t first_row : {0, 64}) {
      Array slot(Shape{37}, DType::bf16);
      RandomState state{7, 5, first_row};
      pack_slot(values, state.data(), group, k, true, {slot.type(), slot.raw()});
      for (std::size_t e = 0; e < 37; ++e) {
        auto words = philox(philox_key(7, state_stream), std::uint64_t{group} << 32 | e / 4, 5);
        std::uint32_t number = k == 0 ? words[e % 4] & 0xffff : words[e % 4] >> 16;
        EXPECT_EQ(slot.span<BFloat16>()[e].bits, number >= 0x8000 ? 0x3f81 : 0x3f80) << e;
      }
    }
}

// ---- updates -----------------------------------------------------------------------------------

struct Group {
  Array variable, gradient;
  std::vector<Array> slots;
};

Array filled(const TensorType& type, double value) {
  Array out(type.shape, DType::f64);
  for (double& x : out.span<double>()) x = value;
  return out.cast(type.dtype);
}

// All elements alike, slots from 0.
Group group_of(std::int64_t elements, double variable, double gradient, int slots,
               OptimizerState state) {
  TensorType type{{elements}, DType::f32};
  Group out{filled(type, variable), filled(type, gradient), {}};
  for (int k = 0; k < slots; ++k)
    out.slots.push_back(Array::zeros(slot_type(type, state).shape, slot_type(type, state).dtype));
  return out;
}

// The reference kernel; a step of an op that does not take it only counts random numbers.
void update(const OpDef& op, const Options& options, float rate, bool takes_step, std::int64_t step,
            Group& g) {
  std::vector<Array> arrays{Array::scalar(rate)};
  if (takes_step) arrays.push_back(Array::scalar(step));
  arrays.push_back(Array::of({std::int64_t{7}, step, std::int64_t{0}}));
  arrays.push_back(g.variable);
  arrays.push_back(g.gradient);
  arrays.insert(arrays.end(), g.slots.begin(), g.slots.end());
  run_in_place(op, options, arrays);
}

std::vector<float> slot_values(const Group& g, int k, bool is_signed) {
  const Array& slot = g.slots[static_cast<std::size_t>(k)];
  return unpack_slot({slot.type(), const_cast<void*>(slot.raw())}, g.variable.elements(),
                     is_signed);
}

constexpr OptimizerState packed_states[] = {OptimizerState::bf16, OptimizerState::eight_bits};

// Numbers that both formats hold exactly: those of MomentumUpdate.HandComputed.
TEST(PackedUpdate, MomentumHandComputed) {
  for (OptimizerState state : packed_states) {
    Group g = group_of(4100, 1, 1, 1, state);
    MomentumUpdateOptions o{.momentum = 0.5, .state = state};
    update(momentum_update_op, o, 0.25f, false, 0, g);
    EXPECT_THAT(g.variable.span<float>(), Each(0.75f));
    update(momentum_update_op, o, 0.25f, false, 1, g);
    EXPECT_THAT(g.variable.span<float>(), Each(0.375f));
    EXPECT_THAT(slot_values(g, 0, true), Each(1.5f));
  }
}

// m = 1, v = 1, rate_t = 0.75 * 0.5 / 0.5; then m = 1.5, v = 1.75, rate_t = sqrt(0.4375).
TEST(PackedUpdate, AdamHandComputed) {
  for (OptimizerState state : packed_states) {
    Group g = group_of(4100, 1, 2, 2, state);
    AdamUpdateOptions o{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.5, .state = state};
    update(adam_update_op, o, 0.75f, true, 0, g);
    EXPECT_THAT(g.variable.span<float>(), Each(0.5f));
    update(adam_update_op, o, 0.75f, true, 1, g);
    EXPECT_THAT(slot_values(g, 0, true), Each(1.5f));
    EXPECT_THAT(slot_values(g, 1, false), Each(1.75f));
    EXPECT_THAT(g.variable.span<float>(), Each(testing::FloatNear(-0.0442810861f, 1e-7f)));
  }
}

// 0.999^1000 = 0.3677. To nearest it would be 1 for ever, as 0.999 is nearer to 1 than to 1 - 2^-8.
TEST(PackedUpdate, ASecondMomentInBf16FallsAsItShould) {
  Group g = group_of(512, 0, 0, 2, OptimizerState::bf16);
  g.slots[1] = filled(g.slots[1].type(), 1);
  AdamUpdateOptions o{.state = OptimizerState::bf16};
  for (std::int64_t step = 0; step < 1000; ++step) update(adam_update_op, o, 1e-3f, true, step, g);
  std::vector<float> v = slot_values(g, 1, false);
  EXPECT_NEAR(std::accumulate(v.begin(), v.end(), 0.0) / 512, 0.3677, 0.01);
}

}  // namespace
}  // namespace belfry
