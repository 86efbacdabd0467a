#pragma once
// Arithmetic on the operands of reductions: lists of segments taken as one row of elements.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/framework/backend/communicator.h"

namespace belfry {

std::int64_t elements_of(const Bucket& bucket);
/// Whether two members may reduce these with each other.
bool fits(const Bucket& a, const Bucket& b);

/// Elements `from` .. `to` - 1 of every target become the reduction of the sources, in the order of
/// the list. 16-bit floats are summed in float and rounded once. Targets may be sources.
void reduce(std::span<const Bucket* const> sources, std::span<const Bucket* const> targets,
            std::int64_t from, std::int64_t to);
/// reduce() of every bucket into every bucket.
void reduce_all(const std::vector<const Bucket*>& buckets, std::int64_t from, std::int64_t to);
/// `target` becomes target op other, all elements.
void reduce_into(const Bucket& target, const Bucket& other);
void copy_into(const Bucket& target, const Bucket& source);

}  // namespace belfry
