#include "belfry/framework/backend/segments.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace belfry {
namespace {

constexpr std::int64_t block = 2048;  // elements: what is summed stays in the first-level cache

// Calls f(segment, first, count) for the pieces of elements from .. to - 1, at most a block each.
template <class F>
void for_each_piece(const Bucket& bucket, std::int64_t from, std::int64_t to, F&& f) {
  std::int64_t begin = 0;
  for (std::size_t s = 0; s < bucket.segments.size(); ++s) {
    std::int64_t count = bucket.segments[s].count;
    std::int64_t first = std::max(from, begin) - begin, last = std::min(to, begin + count) - begin;
    for (std::int64_t i = first; i < last; i += block) f(s, i, std::min(block, last - i));
    begin += count;
  }
}

// dispatch() without the types that have no sum.
template <class F>
void dispatch_reducible(const Bucket& bucket, F&& f) {
  dispatch(bucket.dtype, [&](auto t) {
    if constexpr (std::is_same_v<decltype(t), bool> || std::is_same_v<decltype(t), std::uint8_t>) {
      fail(bucket.name, ": elements of type ", bucket.dtype, " cannot be reduced; cast them");
    } else {
      f(t);
    }
  });
}

template <class C, class T>
void accumulate(C* total, const T* x, std::int64_t count, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      for (std::int64_t i = 0; i < count; ++i) total[i] += static_cast<C>(x[i]);
      return;
    case ReduceOp::max:
      for (std::int64_t i = 0; i < count; ++i) {
        C value = static_cast<C>(x[i]);
        if (value > total[i] || value != value) total[i] = value;
      }
      return;
    case ReduceOp::first:
      return;
  }
}

}  // namespace

std::int64_t elements_of(const Bucket& bucket) {
  std::int64_t total = 0;
  for (const Segment& s : bucket.segments) total += s.count;
  return total;
}

bool fits(const Bucket& a, const Bucket& b) {
  return a.name == b.name && a.dtype == b.dtype && a.op == b.op
         && std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                       [](const Segment& x, const Segment& y) { return x.count == y.count; });
}

void reduce(std::span<const Bucket* const> sources, std::span<const Bucket* const> targets,
            std::int64_t from, std::int64_t to) {
  const Bucket& first = *sources[0];
  dispatch_reducible(first, [&](auto t) {
    using T = decltype(t);
    using C = compute_type<T>;
    std::array<C, block> total;
    for_each_piece(first, from, to, [&](std::size_t s, std::int64_t at, std::int64_t count) {
      auto data = [&](const Bucket& b) { return static_cast<T*>(b.segments[s].data) + at; };
      for (std::int64_t i = 0; i < count; ++i) total[i] = static_cast<C>(data(first)[i]);
      for (const Bucket* b : sources.subspan(1))
        accumulate(total.data(), data(*b), count, first.op);
      for (const Bucket* b : targets)
        for (std::int64_t i = 0; i < count; ++i) data(*b)[i] = static_cast<T>(total[i]);
    });
  });
}

void reduce_all(const std::vector<const Bucket*>& buckets, std::int64_t from, std::int64_t to) {
  reduce(buckets, buckets, from, to);
}

void reduce_into(const Bucket& target, const Bucket& other) {
  std::array<const Bucket*, 2> both{&target, &other};
  reduce(both, std::span(both).first(1), 0, elements_of(target));
}

void copy_into(const Bucket& target, const Bucket& source) {
  for (std::size_t s = 0; s < target.segments.size(); ++s) {
    auto bytes = target.segments[s].count * size_of(target.dtype);
    if (bytes > 0) std::memcpy(target.segments[s].data, source.segments[s].data, bytes);
  }
}

}  // namespace belfry
