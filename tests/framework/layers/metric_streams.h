#pragma once
// A metric of data that come in batches.

#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/layers/metrics/metrics.h"
#include "layers_support.h"

namespace belfry::testing {

using In = std::span<const Tensor>;
using Build = std::function<Metric(In)>;

inline Array rows(const Array& array, std::int64_t begin, std::int64_t count) {
  Array out(array.shape().with(0, count), array.dtype());
  std::int64_t size = array.shape()[0] == 0 ? 0 : array.bytes() / array.shape()[0];
  if (count > 0)
    std::memcpy(out.raw(), array.raw_bytes().data() + begin * size,
                static_cast<std::size_t>(count * size));
  return out;
}

// The metric of `data`, [n, ...] each, cut into batches of the sizes given.
inline Array batched(const Build& build, const std::vector<Array>& data,
                     const std::vector<std::int64_t>& sizes) {
  std::vector<double> merged;
  std::function<Array(std::span<const double>)> value;
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    Graph graph;
    std::vector<Tensor> inputs;
    std::map<std::string, Array> fed;
    for (const Array& array : data) {
      std::string name = "input" + std::to_string(inputs.size());
      Array part = rows(array, begin, size);
      inputs.push_back(input(graph, name, part.type()));
      fed[name] = part;
    }
    Metric metric = build(inputs);
    EXPECT_EQ(metric.state.dtype(), DType::f64);
    EXPECT_EQ(metric.state.rank(), 1);
    auto state = numbers(evaluate({metric.state}, fed)[0]);
    merged.resize(state.size());
    for (std::size_t i = 0; i < state.size(); ++i) merged[i] += state[i];
    value = metric.value;
    begin += size;
  }
  return value(merged);
}

// The metric of `data`, the same however they are cut into batches.
inline Array streamed(const Build& build, const std::vector<Array>& data) {
  std::int64_t n = data[0].shape()[0];
  Array whole = batched(build, data, {n});
  EXPECT_EQ(whole.dtype(), DType::f64);
  if (n < 2) return whole;
  std::vector<std::vector<std::int64_t>> cuts{
      {1, n - 1}, {n - 1, 0, 1}, std::vector<std::int64_t>(static_cast<std::size_t>(n), 1)};
  for (const auto& sizes : cuts)
    EXPECT_TRUE(identical(batched(build, data, sizes), whole))
        << "batches of " << join(sizes, ", ") << " change the value";
  return whole;
}

}  // namespace belfry::testing
