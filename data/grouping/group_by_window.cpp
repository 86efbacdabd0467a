#include <utility>

#include "belfry/data/grouping/buckets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Transform group_by_window(std::function<std::int64_t(const Features&)> key,
                          std::function<std::int64_t(std::int64_t key)> size,
                          PaddedBatchOptions padded) {
  require(key != nullptr && size != nullptr, "group_by_window: the function is empty");
  PaddedStack checked(padded, "group_by_window");
  auto make = [=](std::int64_t k) {
    std::int64_t rows = size(k);
    require(rows >= 1, "group_by_window: size must be at least 1, got ", rows, " for the key ", k);
    return Bucket{rows, checked};
  };
  return bucketed({.name = "group_by_window",
                   .key = std::move(key),
                   .make = make,
                   .drop_remainder = padded.drop_remainder,
                   .constants = [](Position&) {}});
}

Transform group_by_window(std::function<std::int64_t(const Features&)> key, std::int64_t size,
                          PaddedBatchOptions padded) {
  require(size >= 1, "group_by_window: size must be at least 1, got ", size);
  return group_by_window(
      std::move(key), [=](std::int64_t) { return size; }, std::move(padded));
}

}  // namespace belfry::data
