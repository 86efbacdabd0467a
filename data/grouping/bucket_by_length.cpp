#include <algorithm>
#include <functional>
#include <utility>

#include "belfry/data/grouping/buckets.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Length = std::function<std::int64_t(const Features&)>;

void check(const BucketOptions& options) {
  const auto& boundaries = options.boundaries;
  require(std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>())
              == boundaries.end(),
          "bucket_by_length: boundaries must rise, got ", join(boundaries, ", "));
  require(options.batch_sizes.size() == boundaries.size() + 1,
          "bucket_by_length: ", boundaries.size(), " boundaries make ", boundaries.size() + 1,
          " buckets, but there are ", options.batch_sizes.size(), " batch sizes");
  for (std::int64_t size : options.batch_sizes)
    require(size >= 1, "bucket_by_length: batch sizes must be at least 1, got ", size);
  std::int64_t lowest = boundaries.empty() ? 1 : boundaries[0];
  require(lowest >= 1 || options.pad_to_boundary.empty(),
          "bucket_by_length: pad_to_boundary needs boundaries of at least 1, got ", lowest);
  PaddedStack(options.padded, "bucket_by_length");  // checks them
}

// The number of the bucket.
std::int64_t bucket_of(std::int64_t length, const BucketOptions& options) {
  const auto& boundaries = options.boundaries;
  auto above = std::upper_bound(boundaries.begin(), boundaries.end(), length);
  require(options.pad_to_boundary.empty() || above != boundaries.end(),
          "bucket_by_length: the length ", length,
          " is not below the last boundary, to which pad_to_boundary pads");
  return above - boundaries.begin();
}

Bucket make_bucket(std::int64_t bucket, const BucketOptions& options) {
  std::size_t b = bucket;
  PaddedBatchOptions padded = options.padded;
  if (b < options.boundaries.size())
    for (const std::string& name : options.pad_to_boundary) {
      std::vector<std::int64_t>& sizes = padded.pad_to[name];
      sizes.resize(std::max<std::size_t>(sizes.size(), 1), -1);
      sizes[0] = options.boundaries[b] - 1;
    }
  return {options.batch_sizes[b], PaddedStack(std::move(padded), "bucket_by_length")};
}

}  // namespace

Transform bucket_by_length(Length length, BucketOptions options) {
  require(length != nullptr, "bucket_by_length: the function is empty");
  check(options);
  std::uint32_t sum = crc32c(std::as_bytes(std::span(options.boundaries)));
  return bucketed({.name = "bucket_by_length",
                   .key = [=](const Features& f) { return bucket_of(length(f), options); },
                   .make = [=](std::int64_t bucket) { return make_bucket(bucket, options); },
                   .drop_remainder = options.padded.drop_remainder,
                   .constants = [=](Position& at) { at.constant("bucket.boundaries", sum); }});
}

Transform bucket_by_length(std::string feature, BucketOptions options) {
  auto length = [feature = std::move(feature)](const Features& element) {
    const Array& array = element.at(feature);
    require(array.shape().rank() >= 1, "bucket_by_length: `", feature,
            "` is a scalar and has no length");
    return array.shape()[0];
  };
  return bucket_by_length(Length(length), std::move(options));
}

}  // namespace belfry::data
