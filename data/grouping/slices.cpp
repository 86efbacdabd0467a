#include "belfry/data/grouping/grouping.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Array slice_of(const Features& element, const Slice& slice) {
  const Array& whole = element.at(slice.feature);
  require(whole.shape().rank() >= 1, "slices: `", slice.feature, "` is a scalar and has no rows");
  std::int64_t rows = whole.shape()[0];
  auto from_front = [&](std::int64_t i) { return i < 0 ? i + rows : i; };
  std::int64_t begin = from_front(slice.begin), end = from_front(slice.end.value_or(rows));
  require(0 <= begin && begin <= end && end <= rows, "slices: `", slice.feature, "` has ", rows,
          " rows, so none from ", slice.begin, " to ", slice.end.value_or(rows));
  return whole.rows(begin, end - begin).clone();  // slices may overlap
}

}  // namespace

Transform slices(std::vector<std::pair<std::string, Slice>> parts) {
  require(!parts.empty(), "slices: there are none");
  for (auto part = parts.begin(); part != parts.end(); ++part)
    for (auto other = parts.begin(); other != part; ++other)
      require(part->first != other->first, "slices: there are two `", part->first, "`");
  return map(
      [=](Features in) {
        Features out;
        for (const auto& [name, slice] : parts) out.set(name, slice_of(in, slice));
        return out;
      },
      {.name = "slices"});
}

}  // namespace belfry::data
