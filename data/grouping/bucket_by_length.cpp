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
  std::int64_t lowest = boundaries.empty() ? 1 : boundaries[0];
  require(lowest >= 1 || (options.pad_to_boundary.empty() && options.tokens == 0),
          "bucket_by_length: ", options.tokens == 0 ? "pad_to_boundary needs" : "tokens need",
          " boundaries of at least 1, got ", lowest);
  PaddedStack(options.padded, "bucket_by_length");  // checks them
  require(options.tokens >= 0,
          "bucket_by_length: tokens must be at least 1, or 0 for batch_sizes, got ",
          options.tokens);
  if (options.tokens > 0) {
    require(options.batch_sizes.empty(),
            "bucket_by_length: batch sizes follow from tokens; give one of the two");
    require(!boundaries.empty(),
            "bucket_by_length: tokens need a boundary, above the longest element");
    return;
  }
  require(options.batch_sizes.size() == boundaries.size() + 1,
          "bucket_by_length: ", boundaries.size(), " boundaries make ", boundaries.size() + 1,
          " buckets, but there are ", options.batch_sizes.size(), " batch sizes");
  for (std::int64_t size : options.batch_sizes)
    require(size >= 1, "bucket_by_length: batch sizes must be at least 1, got ", size);
}

// How many rows of a bucket BucketOptions::tokens allow. The length is that of `feature`, if it has
// a name, and so is the padding beyond the boundary.
std::int64_t rows_within(std::int64_t boundary, const BucketOptions& options,
                         const std::string& feature) {
  std::int64_t longest = boundary - 1, padding = 0;
  const std::vector<std::string>& to_boundary = options.pad_to_boundary;
  const PaddedBatchOptions& padded = options.padded;
  if (std::find(to_boundary.begin(), to_boundary.end(), feature) == to_boundary.end()) {
    auto sizes = padded.pad_to.find(feature);
    auto unit = padded.multiple_of.find(feature);
    if (sizes != padded.pad_to.end() && !sizes->second.empty() && sizes->second[0] >= 0)
      longest = sizes->second[0];
    else if (unit != padded.multiple_of.end() && longest % unit->second > 0)
      padding = unit->second - longest % unit->second;
  }
  require(longest <= options.tokens - padding, "bucket_by_length: ", options.tokens,
          " tokens hold no row of ", longest,
          padding > 0 ? concat(" and its padding of ", padding) : "",
          ", as there may be below the boundary ", boundary);
  return options.tokens / std::max<std::int64_t>(longest + padding, 1);
}

// The number of the bucket.
std::int64_t bucket_of(std::int64_t length, const BucketOptions& options) {
  const auto& boundaries = options.boundaries;
  auto above = std::upper_bound(boundaries.begin(), boundaries.end(), length);
  bool last_too = options.pad_to_boundary.empty() && options.tokens == 0;
  require(last_too || above != boundaries.end(), "bucket_by_length: the length ", length,
          " is not below the last boundary, ",
          options.tokens > 0 ? concat(boundaries.back(), ", as it has to be with tokens")
                             : "to which pad_to_boundary pads");
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

Transform bucketed_by(const Length& length, BucketOptions options, const std::string& feature) {
  check(options);
  if (options.tokens > 0)
    for (std::int64_t boundary : options.boundaries)
      options.batch_sizes.push_back(rows_within(boundary, options, feature));
  std::uint32_t sum = crc32c(std::as_bytes(std::span(options.boundaries)));
  return bucketed({.name = "bucket_by_length",
                   .key = [=](const Features& f) { return bucket_of(length(f), options); },
                   .make = [=](std::int64_t bucket) { return make_bucket(bucket, options); },
                   .drop_remainder = options.padded.drop_remainder,
                   .constants = [=](Position& at) { at.constant("bucket.boundaries", sum); }});
}

}  // namespace

Transform bucket_by_length(Length length, BucketOptions options) {
  require(length != nullptr, "bucket_by_length: the function is empty");
  return bucketed_by(length, std::move(options), "");
}

Transform bucket_by_length(std::string feature, BucketOptions options) {
  auto length = [=](const Features& element) {
    const Array& array = element.at(feature);
    require(array.shape().rank() >= 1, "bucket_by_length: `", feature,
            "` is a scalar and has no length");
    return array.shape()[0];
  };
  return bucketed_by(length, std::move(options), feature);
}

}  // namespace belfry::data
