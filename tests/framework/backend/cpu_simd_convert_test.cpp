#include <bit>
#include <cstring>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

template <class T>
std::vector<T> all_values() {
  std::vector<T> out(0x10000);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].bits = static_cast<std::uint16_t>(i);
  return out;
}

/// Every 16-bit pattern of the upper half with lower halves at and around those where rounding
/// turns, for both types: 65,536 times 24 floats.
std::vector<float> dense_floats() {
  std::vector<float> out;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t low :
         {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x2fffu,
          0x3000u, 0x3001u, 0x4000u, 0x5000u, 0x6fffu, 0x7000u, 0x7fffu, 0x8000u,
          0x8001u, 0x9000u, 0xb000u, 0xd000u, 0xefffu, 0xf000u, 0xf001u, 0xffffu})
      out.push_back(float_of(high << 16 | low));
  return out;
}

template <class T>
void check_loads(const SimdLoops& loops) {
  std::vector<T> x = all_values<T>();
  std::vector<float> y(x.size());
  loops.convert.of<T>().load(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]),
              std::bit_cast<std::uint32_t>(static_cast<float>(x[i])))
        << "of " << i << " on " << loops.isa;
}

template <class T>
void check_stores(const SimdLoops& loops) {
  std::vector<float> x = dense_floats();
  std::vector<T> y(x.size());
  loops.convert.of<T>().store(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i].bits, T(x[i]).bits)
        << "of " << std::bit_cast<std::uint32_t>(x[i]) << " on " << loops.isa;
}

TEST(SimdConvert, LoadsEvery16BitValueAsTheScalarConversionDoes) {
  for (const SimdLoops* loops : simd_choices()) {
    check_loads<BFloat16>(*loops);
    check_loads<Float16>(*loops);
  }
}

TEST(SimdConvert, RoundsADenseSetOfFloatsAsTheScalarConversionDoes) {
  for (const SimdLoops* loops : simd_choices()) {
    check_stores<BFloat16>(*loops);
    check_stores<Float16>(*loops);
  }
}

TEST(SimdConvert, RoundsToNearestTiesToEven) {
  // Between 1 and the next bf16, 1 + 2^-7, and the next f16, 1 + 2^-10.
  std::vector<float> x{1 + 0x1p-8f, 1 + 0x1.8p-7f, 1 + 0x1.01p-8f, 1 + 0x1p-11f, 1 + 0x3p-11f,
                       65519.0f,    65520.0f,      0x1p-25f,       0x1.8p-24f,   -0.0f};
  std::vector<BFloat16> b(x.size());
  std::vector<Float16> h(x.size());
  auto n = static_cast<std::int64_t>(x.size());
  for (const SimdLoops* loops : simd_choices()) {
    loops->convert.bf16.store(x.data(), b.data(), n);
    loops->convert.f16.store(x.data(), h.data(), n);
    EXPECT_EQ(b[0].bits, 0x3f80);  // the tie goes down to 1
    EXPECT_EQ(b[1].bits, 0x3f82);  // and up to 1 + 2^-6
    EXPECT_EQ(b[2].bits, 0x3f81);
    EXPECT_EQ(h[3].bits, 0x3c00);
    EXPECT_EQ(h[4].bits, 0x3c02);
    EXPECT_EQ(h[5].bits, 0x7bff);  // 65504, the largest
    EXPECT_EQ(h[6].bits, 0x7c00);  // infinity
    EXPECT_EQ(h[7].bits, 0x0000);  // half of the smallest
    EXPECT_EQ(h[8].bits, 0x0002);
    EXPECT_EQ(h[9].bits, 0x8000);
  }
}

TEST(SimdConvert, CastsBetweenAllTypesThatHaveLoops) {
  std::vector<DType> floating{DType::f32, DType::bf16, DType::f16};
  for (std::int64_t n : {0, 1, 17, 5000, 40001})
    for (DType to : {DType::f32, DType::bf16, DType::f16, DType::boolean}) {
      for (DType from : floating) {
        if (from == to) continue;
        Array x = random_array({n}, 1).cast(from);
        Graph graph;
        expect_simd_matches_reference(cast(inputs_like(graph, {x})[0], to).node(), {x}, 0);
      }
      for (DType from : {DType::u8, DType::boolean}) {
        if (from == to) continue;
        Array x = random_integers({n}, from, from == DType::u8 ? 256 : 2, 3);
        Graph graph;
        expect_simd_matches_reference(cast(inputs_like(graph, {x})[0], to).node(), {x}, 0);
      }
    }
}

}  // namespace
}  // namespace belfry::cpu
