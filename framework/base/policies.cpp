#include "belfry/framework/base/policies.h"

#include "belfry/framework/base/error.h"

namespace belfry {

std::string to_string(BatchPolicy policy) {
  switch (policy) {
    case BatchPolicy::global:
      return "global";
    case BatchPolicy::per_worker:
      return "per_worker";
    case BatchPolicy::per_tower:
      return "per_tower";
  }
  fail("internal error in Belfry: unknown batch policy");
}

std::string to_string(VariablePlacement placement) {
  return placement == VariablePlacement::mirrored ? "mirrored" : "central";
}

std::string to_string(CrossDevice kind) {
  switch (kind) {
    case CrossDevice::shared:
      return "shared";
    case CrossDevice::to_one_device:
      return "to_one_device";
    case CrossDevice::hierarchical:
      return "hierarchical";
  }
  fail("internal error in Belfry: unknown kind of reduction");
}

std::vector<RowRange> split_rows(std::int64_t rows, int parts) {
  std::vector<RowRange> out;
  std::int64_t first = 0;
  for (int i = 0; i < parts; ++i) {
    std::int64_t count = rows / parts + (i < rows % parts ? 1 : 0);
    out.push_back({first, count});
    first += count;
  }
  return out;
}

}  // namespace belfry
