#include "belfry/framework/ops/nn_checks.h"

#include <algorithm>
#include <array>

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {

void require_floating(std::string_view op, std::string_view operand, const TensorType& type) {
  require(is_floating(type.dtype), op, ": ", operand, " must be floating, got ", type, "; cast it");
}

void require_rank(std::string_view op, std::string_view operand, const TensorType& type, int rank,
                  std::string_view axes) {
  require(type.shape.rank() == rank, op, ": ", operand, " must be ", axes, ", got ", type);
}

void require_input(std::string_view op, const TensorType& type, int axes, std::string_view last) {
  require(type.shape.rank() == axes + 2, op, ": input must be ", axes_text("n", "", axes, last),
          ", got ", type, other_op_text(op, type.shape.rank()));
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

std::string other_op_text(std::string_view op, int rank) {
  using Family = std::array<std::string_view, 3>;  // for signals, images, volumes
  static constexpr std::array families{
      Family{"conv1d", "conv2d", "conv3d"},
      Family{"conv1d_transpose", "conv2d_transpose", "conv3d_transpose"},
      Family{"max_pool1d", "max_pool", "max_pool3d"},
      Family{"avg_pool1d", "avg_pool", "avg_pool3d"}};
  for (const Family& family : families) {
    auto own = std::find(family.begin(), family.end(), op);
    if (own == family.end()) continue;
    auto own_rank = static_cast<int>(own - family.begin()) + 3;
    bool exists = rank >= 3 && rank <= 5 && rank != own_rank;
    std::string other = exists ? concat("use ", family.at(rank - 3)) : std::string();
    if (rank == own_rank - 1)
      return concat("; if the axis of the batch is missing, put batch() behind the dataset",
                    exists ? ", else " : "", other);
    return exists ? concat("; ", other) : std::string();
  }
  return {};
}

std::string axes_text(std::string_view first, std::string_view prefix, int axes,
                      std::string_view last) {
  static constexpr std::array<std::string_view, 3> names{"d", "h", "w"};
  std::string text = first.empty() ? "[" : concat("[", first, ", ");
  for (auto axis = names.end() - axes; axis != names.end(); ++axis)
    text += concat(prefix, *axis, ", ");
  return concat(text, last, "]");
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
    const Tensor& dy = c.dy(o);
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
