#pragma once
// A network by itself, to compare what it makes of an array with a computation of the test's own.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "models_support.h"

namespace belfry::models {

/// Numbers from -1 to 1, others for each name.
inline Array random_array(const Shape& shape, std::string_view name = "x") {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(3, name));
  for (float& x : out.span<float>()) x = random.uniform(-1, 1);
  return out;
}

/// The output of `network` for x [n, ...] in predict mode, where all parameters lie between -1 and
/// 1 and all statistics between 0 and 1, and the values of those.
class Forward {
 public:
  Forward(const Array& x, std::function<Tensor(const Scope&, Tensor)> network) {
    // Asked for once, the variables are given these first values; then they are shared.
    ModelFn model = [&](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Graph names;
      network(Scope(names), Batch(names, {{"x", x.type()}})["x"]);
      for (Node* node : names.variables()) {
        const auto& v = node->as<VariableOptions>();
        Array& value = variables[v.name] = random_array(v.type.shape, v.name);
        if (v.kind == VariableKind::statistic)
          for (float& element : value.span<float>()) element = std::abs(element);
        std::size_t slash = v.name.rfind('/');
        scope_at(s, v.name.substr(0, slash))
            .variable(v.name.substr(slash + 1),
                      {.shape = v.type.shape, .initializer = given(value), .kind = v.kind});
      }
      return {.predictions = {{"y", network(s.shared(), batch["x"])}}};
    };
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
    Features out;
    auto predictions = estimator.predict(one_batch({{"x", x}}), {.single_examples = false});
    EXPECT_TRUE(predictions.next(out));
    y = out.at("y");
  }

  /// Element `index` of a variable.
  double operator()(const std::string& variable, std::int64_t index) const {
    return variables.at(variable).at(index);
  }

  Array y;
  std::map<std::string, Array> variables;

 private:
  static Scope scope_at(Scope s, const std::string& path) {
    for (std::size_t from = 0; from <= path.size();) {
      std::size_t end = std::min(path.find('/', from), path.size());
      s = s / path.substr(from, end - from);
      from = end + 1;
    }
    return s;
  }
};

}  // namespace belfry::models
