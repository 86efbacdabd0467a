#include "belfry/framework/tensor/philox_draws.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "belfry/framework/base/error.h"

// Loops without branches or calls, so that compilers vectorise them; on x86-64 twice, for
// processors with AVX2 and without. Inlined into both, and so free of lambdas, which would not be.
#define BELFRY_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#include <immintrin.h>
#define BELFRY_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace belfry {
namespace {

constexpr std::size_t blocks = 128;  // of four words each, drawn together

struct Words {
  alignas(64) std::uint32_t at[4][blocks];
};

/// philox(key, first + b) for all b < blocks.
void draw_words(PhiloxKey key, std::uint64_t first, Words& words) {
  for (std::size_t b = 0; b < blocks; ++b) {
    std::array<std::uint32_t, 4> drawn = philox(key, first + b);
    for (std::size_t i = 0; i < 4; ++i) words.at[i][b] = drawn[i];
  }
}

#if defined(__x86_64__)

BELFRY_AVX2 BELFRY_INLINE __m256i same(std::uint64_t x) { return _mm256_set1_epi64x(x); }

/// The lower halves of four lanes.
BELFRY_AVX2 BELFRY_INLINE void store_halves(__m256i x, std::uint32_t* to) {
  __m256i packed = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}

/// draw_words() by hand: compilers do not see that a product of lower halves is one instruction.
/// The upper halves of what is multiplied hold anything.
BELFRY_AVX2 BELFRY_INLINE void draw_words_avx2(PhiloxKey key, std::uint64_t first, Words& words) {
  for (std::size_t b = 0; b < blocks; b += 4) {
    __m256i c0 = _mm256_add_epi64(same(first + b), _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i c1 = _mm256_srli_epi64(c0, 32), c2 = same(0), c3 = same(0);
    std::uint32_t k0 = key.value;
    std::uint32_t k1 = key.value >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      __m256i p0 = _mm256_mul_epu32(c0, same(0xD2511F53));
      __m256i p1 = _mm256_mul_epu32(c2, same(0xCD9E8D57));
      c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1, same(k0)));
      c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3, same(k1)));
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    store_halves(c0, &words.at[0][b]);
    store_halves(c1, &words.at[1][b]);
    store_halves(c2, &words.at[2][b]);
    store_halves(c3, &words.at[3][b]);
  }
}

#endif

/// ((high << 32 | low) >> 11) / 2^53, exactly. Only signed words become doubles in one instruction.
BELFRY_INLINE double uniform_of(std::uint32_t high, std::uint32_t low) {
  double upper = (static_cast<std::int32_t>(high ^ 0x80000000)) + 0x1p31;
  return upper * 0x1p-32 + (static_cast<std::int32_t>(low >> 11)) * 0x1p-53;
}

/// log(x) for 2^-60 < x <= 1: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and the series of
/// 2 artanh(s) = log m with s = (m - 1) / (m + 1).
BELFRY_INLINE double near_log(double x) {
  constexpr std::uint64_t root = 0x3fe6a09e667f3bcd, fraction = (std::uint64_t{1} << 52) - 1;
  std::uint64_t offset = std::bit_cast<std::uint64_t>(x) - root + (std::uint64_t{64} << 52);
  // The bits of 2^52 + e + 64.
  double e = std::bit_cast<double>(offset >> 52 | 0x4330000000000000) - (0x1p52 + 64);
  double f = std::bit_cast<double>((offset & fraction) + root) - 1;
  double s = f / (2 + f), z = s * s;
  double series = 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  return e * std::numbers::ln2 + 2 * (s + s * z * series);
}

/// cos(2 pi x) for 0 <= x <= 1: Taylor series of sine and cosine around the nearest quarter turn.
BELFRY_INLINE double near_cos_of_turns(double x) {
  constexpr double round = 0x1.8p52;  // adding it leaves a whole number
  double quarter = (4 * x + round) - round;
  double t = 2 * std::numbers::pi * (x - 0.25 * quarter), z = t * t;
  double sine = -1.0 / 1307674368000;
  sine = sine * z + 1.0 / 6227020800;
  sine = sine * z - 1.0 / 39916800;
  sine = sine * z + 1.0 / 362880;
  sine = sine * z - 1.0 / 5040;
  sine = sine * z + 1.0 / 120;
  sine = sine * z - 1.0 / 6;
  sine = t + t * z * sine;
  double cosine = 1.0 / 20922789888000;
  cosine = cosine * z - 1.0 / 87178291200;
  cosine = cosine * z + 1.0 / 479001600;
  cosine = cosine * z - 1.0 / 3628800;
  cosine = cosine * z + 1.0 / 40320;
  cosine = cosine * z - 1.0 / 720;
  cosine = cosine * z + 1.0 / 24;
  cosine = cosine * z - 1.0 / 2;
  cosine = cosine * z + 1;
  double size = quarter == 1 || quarter == 3 ? sine : cosine;
  return quarter == 1 || quarter == 2 ? -size : size;
}

BELFRY_INLINE void uniforms_of(const Words& words, double* out) {
  for (std::size_t b = 0; b < blocks; ++b) {
    out[2 * b] = uniform_of(words.at[0][b], words.at[1][b]);
    out[2 * b + 1] = uniform_of(words.at[2][b], words.at[3][b]);
  }
}

BELFRY_INLINE void near_normals_of(const Words& words, double* z, double* radius) {
  for (std::size_t b = 0; b < blocks; ++b) {
    double square = -2 * near_log(1 - uniform_of(words.at[0][b], words.at[1][b]));
    radius[b] = __builtin_sqrt(square);
    z[b] = radius[b] * near_cos_of_turns(uniform_of(words.at[2][b], words.at[3][b]));
  }
}

/// Loops over the blocks from `first` on. A normal draw takes one block, a uniform one half of it.
struct Loops {
  void (*uniforms)(PhiloxKey key, std::uint64_t first, double* out);
  void (*near_normals)(PhiloxKey key, std::uint64_t first, double* z, double* radius);
};

void uniforms(PhiloxKey key, std::uint64_t first, double* out) {
  Words words;
  draw_words(key, first, words);
  uniforms_of(words, out);
}
void near_normals(PhiloxKey key, std::uint64_t first, double* z, double* radius) {
  Words words;
  draw_words(key, first, words);
  near_normals_of(words, z, radius);
}

#if defined(__x86_64__)
BELFRY_AVX2 void uniforms_avx2(PhiloxKey key, std::uint64_t first, double* out) {
  Words words;
  draw_words_avx2(key, first, words);
  uniforms_of(words, out);
}
BELFRY_AVX2 void near_normals_avx2(PhiloxKey key, std::uint64_t first, double* z, double* radius) {
  Words words;
  draw_words_avx2(key, first, words);
  near_normals_of(words, z, radius);
}
#endif

const Loops& loops() {
  static const Loops chosen = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return Loops{uniforms_avx2, near_normals_avx2};
#endif
    return Loops{uniforms, near_normals};
  }();
  return chosen;
}

}  // namespace

void uniform_draws(PhiloxKey key, std::uint64_t first, std::span<double> out) {
  constexpr std::size_t width = 2 * blocks;
  double drawn[width];
  for (std::size_t i = 0; i < out.size();) {
    std::size_t skipped = first % 2, n = std::min(width - skipped, out.size() - i);
    loops().uniforms(key, first / 2, drawn);
    std::copy_n(drawn + skipped, n, &out[i]);
    i += n;
    first += n;
  }
}

double normal_of(double size, double angle) {
  double u = 1.0 - size;  // in (0, 1]: the logarithm is finite
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * angle);
}

double normal_draw(PhiloxKey key, std::uint64_t index) {
  std::array<std::uint32_t, 4> words = philox(key, index);
  return normal_of(uniform_of(words[0], words[1]), uniform_of(words[2], words[3]));
}

void near_normal_draws(PhiloxKey key, std::uint64_t first, std::span<double> z,
                       std::span<double> radius) {
  ensure(z.size() == radius.size(), "near_normal_draws: spans of different sizes");
  double drawn[blocks], sizes[blocks];
  for (std::size_t i = 0; i < z.size(); i += blocks) {
    std::size_t n = std::min(blocks, z.size() - i);
    loops().near_normals(key, first + i, drawn, sizes);
    std::copy_n(drawn, n, &z[i]);
    std::copy_n(sizes, n, &radius[i]);
  }
}

}  // namespace belfry
