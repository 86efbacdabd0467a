#include "belfry/framework/ops/nn_checks.h"

#include "belfry/framework/ops/gradients.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

void require_floating(std::string_view op, std::string_view operand, const TensorType& type) {
  require(is_floating(type.dtype), op, ": ", operand, " must be floating, got ", type, "; cast it");
}

void require_rank(std::string_view op, std::string_view operand, const TensorType& type, int rank,
                  std::string_view axes) {
  require(type.shape.rank() == rank, op, ": ", operand, " must be ", axes, ", got ", type);
}

void require_same_dtype(std::string_view op, std::string_view a_name, const TensorType& a,
                        std::string_view b_name, const TensorType& b) {
  require(a.dtype == b.dtype, op, ": ", a_name, " ", a, " and ", b_name, " ", b,
          " have different dtypes; cast one of them");
}

void require_type(std::string_view op, std::string_view operand, const TensorType& type,
                  const TensorType& expected) {
  require(type == expected, op, ": ", operand, " must be ", expected, ", got ", type);
}

Tensor add_defined(Tensor a, Tensor b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

std::vector<Tensor> composed_gradient(
    const GradContext& c,
    std::vector<Tensor> (*compose)(const GradContext& c, std::span<const Tensor> inputs)) {
  // Copies of the inputs, so that only what the op itself does is differentiated and not also how
  // its inputs depend on one another.
  std::vector<Tensor> inputs, leaves;
  std::vector<std::size_t> positions;
  for (int i = 0; i < c.input_count(); ++i) {
    inputs.push_back(c.input(i));
    if (!is_floating(c.input(i).dtype())) continue;
    inputs.back() = stop_gradient(c.input(i));
    leaves.push_back(inputs.back());
    positions.push_back(inputs.size() - 1);
  }
  std::vector<Tensor> outputs = compose(c, inputs);
  std::vector<Tensor> result(inputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& dy = c.dy(static_cast<int>(o));
    if (!dy.defined()) continue;
    std::vector<Tensor> parts = gradients(outputs[o], leaves, dy);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Tensor& total = result[positions[i]];
      total = add_defined(total, parts[i]);
    }
  }
  return result;
}

}  // namespace belfry
