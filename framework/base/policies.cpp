#include "belfry/framework/base/policies.h"

namespace belfry {

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
