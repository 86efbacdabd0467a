#pragma once
// Runs the steps of a graph's training on the CPU device, for the tests of this folder.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/runtime/executable.h"

namespace belfry {

class Training {
 public:
  /// Compiles `outputs` and all effects that the graph has now.
  Training(const Graph& graph, const std::vector<Tensor>& outputs, bool fast = true)
      : variables_(find_device("cpu")),
        run_(compile(outputs, graph.effects(), variables_.device(), {.fast = fast, .verify = true}),
             variables_, 0) {}

  /// One more step; gives its number, 0 for the first.
  std::int64_t step(const Features& batch = {}) {
    run_.run(batch, {.step = finished_});
    return finished_++;
  }
  /// Runs with this number next.
  void set_step(std::int64_t step) { finished_ = step; }

  double output(std::size_t i = 0) const { return run_.output(i).item(); }
  std::vector<double> variable(std::string_view name) const {
    Array array = variables_.read(name);
    std::vector<double> out;
    for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
    return out;
  }
  std::vector<std::string> names() const { return variables_.names(); }

 private:
  VariableStore variables_;
  Executable run_;
  std::int64_t finished_ = 0;
};

}  // namespace belfry
