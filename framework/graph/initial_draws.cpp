#include "belfry/framework/graph/initial_draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "belfry/framework/tensor/philox_draws.h"

namespace belfry {
namespace {

constexpr std::size_t chunk = 512;  // draws that stay in the core's cache

// A thread for each 2^18 elements, half a millisecond of work and more, and no more than there are
// cores, of which other towers may make first values, too.
std::size_t parts_of(std::size_t elements) {
  std::size_t cores = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  return std::clamp<std::size_t>(elements >> 18, 1, cores);
}

// Calls body(part) for each part, which throws nothing. Where no more threads can be had, this one
// does the rest.
void run_parallel(std::size_t parts, const std::function<void(std::size_t)>& body) {
  std::vector<std::jthread> others;
  others.reserve(parts);
  std::size_t next = 1;
  try {
    for (; next < parts; ++next) others.emplace_back([&body, part = next] { body(part); });
  } catch (const std::system_error&) {
  }
  body(0);
  for (; next < parts; ++next) body(next);
}

template <class T>
T rounded(double value) {
  return static_cast<T>(static_cast<compute_type<T>>(value));
}

template <class T>
void fill_uniform(std::span<T> out, PhiloxKey key, const UniformValues& v) {
  std::size_t parts = parts_of(out.size());
  run_parallel(parts, [&](std::size_t part) {
    std::size_t end = out.size() * (part + 1) / parts;
    double drawn[chunk];
    for (std::size_t i = out.size() * part / parts; i < end; i += chunk) {
      std::size_t n = std::min(chunk, end - i);
      uniform_draws(key, i, std::span(drawn, n));
      for (std::size_t k = 0; k < n; ++k)
        out[i + k] =
            rounded<T>(v.centred ? v.scale * (2 * drawn[k] - 1) : v.shift + v.scale * drawn[k]);
    }
  });
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// Values of draws first .. first + n - 1 as floats, without those that are left out; returns how
// many. Near draws do for nearly all: the others, whose float or place is in doubt, are drawn
// exactly.
template <class T>
std::size_t take_normal(PhiloxKey key, const NormalValues& v, std::uint64_t first, std::size_t n,
                        T* out) {
  std::size_t taken = 0;
  double z[chunk], radius[chunk];
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t k = i % chunk, some = std::min(chunk, n - i);
    if (k == 0) near_normal_draws(key, first + i, std::span(z, some), std::span(radius, some));
    double value = v.shift + v.scale * z[k];
    double error = near_normal_error * (std::abs(v.shift) + std::abs(v.scale) * radius[k]);
    bool sure = same_bits(static_cast<float>(value - error), static_cast<float>(value + error))
                && std::abs(std::abs(z[k]) - 2) > near_normal_error * radius[k];
    if (!sure) {
      z[k] = normal_draw(key, first + i);
      value = v.shift + v.scale * z[k];
    }
    out[taken] = rounded<T>(value);
    taken += !v.truncated || std::abs(z[k]) <= 2;
  }
  return taken;
}

// In rounds, since nobody knows beforehand how many draws are left out.
template <class T>
void fill_normal(std::span<T> out, PhiloxKey key, const NormalValues& v) {
  constexpr std::size_t most = 1 << 18;  // draws of a part in a round
  std::size_t parts = parts_of(out.size());
  std::vector<T> drawn;
  std::vector<std::size_t> taken(parts);
  std::uint64_t first = 0;
  for (std::size_t filled = 0; filled < out.size();) {
    std::size_t missing = out.size() - filled;
    if (v.truncated) missing += missing / 16 + 8;  // one in 22 is left out
    std::size_t each = std::min(most, (missing + parts - 1) / parts);
    drawn.resize(std::max(drawn.size(), parts * each));
    run_parallel(parts, [&](std::size_t part) {
      taken[part] = take_normal(key, v, first + part * each, each, &drawn[part * each]);
    });
    for (std::size_t part = 0; part < parts; ++part) {
      std::size_t n = std::min(taken[part], out.size() - filled);
      std::copy_n(&drawn[part * each], n, &out[filled]);
      filled += n;
    }
    first += parts * each;
  }
}

// One after the other, for types that hold more digits than near draws have, or whole numbers.
template <class T>
void fill_normal_exactly(std::span<T> out, PhiloxKey key, const NormalValues& v) {
  std::uint64_t index = 0;
  for (T& x : out) {
    double z = normal_draw(key, index++);
    while (v.truncated && std::abs(z) > 2) z = normal_draw(key, index++);
    x = rounded<T>(v.shift + v.scale * z);
  }
}

}  // namespace

void fill(Array& out, PhiloxKey key, const UniformValues& values) {
  dispatch(out.dtype(), [&](auto t) {
    using T = decltype(t);
    fill_uniform(out.span<T>(), key, values);
  });
}

void fill(Array& out, PhiloxKey key, const NormalValues& values) {
  dispatch(out.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<compute_type<T>, float>)
      fill_normal(out.span<T>(), key, values);
    else
      fill_normal_exactly(out.span<T>(), key, values);
  });
}

}  // namespace belfry
