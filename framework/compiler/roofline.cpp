#include "belfry/framework/compiler/roofline.h"

#include <algorithm>

#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

using Role = Instruction::Role;

bool is_16_bits(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

}  // namespace

double bytes_touched(const Node& node) {
  double written = 0, read = 0;
  for (const TensorType& type : node.outputs()) written += type.bytes();
  if (node.is(gather_op) || node.is(embedding_lookup_op)) return 2 * written;
  std::vector<int> variables = node.mutated();
  std::int64_t elements = 0;  // of the gradient
  for (int i = 0; i < std::ssize(node.inputs()); ++i) {
    if (std::ranges::count(variables, i)) continue;
    const TensorType& type = node.input(i).type();
    read += type.bytes();
    elements = std::max(elements, type.shape.elements());
  }
  for (int i : variables) {
    const TensorType& type = node.input(i).type();
    double updated = std::min(elements, type.shape.elements()) * size_of(type.dtype);
    read += updated, written += updated;
  }
  // Normalising, and its gradient, begin with sums over the batch.
  if (node.is(batch_norm_train_op)) read += node.input(0).type().bytes();
  if (node.is(batch_norm_grad_op))
    for (const Tensor& t : node.inputs()) read += t.type().bytes();
  return read + written;
}

Work work_of(const Instruction& i) {
  if (i.role == Role::pack) return {.bytes = static_cast<double>(i.packed_bytes)};
  if (i.role != Role::compute) return {};
  return {.bytes = bytes_touched(*i.node),
          .flops = i.node->op().flops ? i.node->op().flops(*i.node) : 0};
}

bool is_product(const Instruction& i) {
  return i.role == Role::compute
         && (i.node->is(matmul_op) || i.node->op().flops == convolution_flops);
}

double least_seconds(const Instruction& i, const DeviceLimits& limits, bool tf32) {
  Work work = work_of(i);
  double rate = limits.flops;
  if (is_product(i)) {
    DType dtype = i.node->input(0).dtype();
    if (is_16_bits(dtype)) rate = limits.flops_16;
    if (dtype == DType::f32 && tf32) rate = limits.flops_tf32;
  }
  return std::max(work.bytes / limits.bytes, work.flops / rate);
}

Roofline roofline_of(const Plan& plan) {
  Roofline out;
  for (const Instruction& i : plan.instructions) {
    Work work = work_of(i);
    Work& sum = is_product(i) ? out.products : out.others;
    sum.bytes += work.bytes;
    sum.flops += work.flops;
    if (!plan.limits) continue;
    (is_product(i) ? out.product_seconds : out.other_seconds) +=
        least_seconds(i, *plan.limits, plan.tf32);
  }
  return out;
}

}  // namespace belfry
