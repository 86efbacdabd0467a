#include <cstring>

#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Dataset from_arrays(Features arrays, std::string source) {
  require(!arrays.empty(), source, ": needs at least one array");
  Signature row;
  const auto& [first_name, first] = *arrays.begin();
  for (const auto& [name, array] : arrays) {
    require(array.defined(), source, ": the array `", name, "` is undefined");
    require(array.shape().rank() >= 1, source, ": `", name,
            "` is a scalar; every array needs an axis 0 of examples");
    require(array.shape()[0] == first.shape()[0], source, ": arrays must agree in axis 0, but `",
            first_name, "` is ", first.shape(), " and `", name, "` is ", array.shape());
    row.emplace_back(name, TensorType{Shape(array.shape().sizes().subspan(1)), array.dtype()});
  }
  std::int64_t count = first.shape()[0];
  auto read = [arrays = std::move(arrays), row](std::int64_t index, Features& out) {
    prepare(out, row);
    auto target = out.begin();
    for (const auto& [name, array] : arrays) {
      Array& copy = (target++)->second;
      std::size_t bytes = copy.bytes();
      std::memcpy(copy.raw(), array.raw_bytes().data() + index * bytes, bytes);
    }
  };
  return indexed(count, std::move(read), std::move(source));
}

}  // namespace belfry::data
