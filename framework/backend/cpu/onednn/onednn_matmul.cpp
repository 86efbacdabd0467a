// matmul on oneDNN: its matrix product on plain operands, nothing packed. README, "Matrix
// products", has the measurements behind the choice between its two ways.

#include <algorithm>
#include <array>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/onednn/onednn_api.h"
#include "belfry/framework/backend/cpu/onednn/onednn_epilogue.h"
#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cpu {
namespace {

using dnnl::memory;

/// One product [m, k] x [k, n], the second operand not transposed, by oneDNN's classic routine;
/// then bias and activation.
class OnednnGemm final : public Kernel {
 public:
  OnednnGemm(const Node& node, int threads)
      : options_(node.as<MatmulNodeOptions>()),
        m_(node.output().shape[node.output().shape.rank() - 2]),
        n_(node.output().shape[node.output().shape.rank() - 1]),
        k_(node.input(0).size(options_.product.transpose_a ? -2 : -1)),
        threads_(threads) {}

  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream&) override {
    bool ta = options_.product.transpose_a;
    auto* y = arguments.output<float>(0);
    dnnl_status_t status =
        dnnl_sgemm(ta ? 'T' : 'N', 'N', m_, n_, k_, 1.0f, arguments.input<float>(0), ta ? m_ : k_,
                   arguments.input<float>(1), n_, 0.0f, y, n_);
    if (status != dnnl_success) fail_onednn(matmul_op.name, "multiply", status);
    bool relu = options_.activation == Activation::relu;
    if (!options_.bias && !relu) return;
    auto* bias = options_.bias ? arguments.input<float>(2) : nullptr;
    add_bias_in_place(y, bias, relu, m_, n_, threads_);
  }

 private:
  MatmulNodeOptions options_;
  std::int64_t m_, n_, k_;
  int threads_;
};

/// An operand with leading axes of size 1 up to `rank`, its last two axes as multiplied.
memory::desc operand(const TensorType& t, bool transposed, int rank, memory::data_type type) {
  std::size_t missing = rank - t.shape.rank();
  memory::dims sizes(missing, 1);
  sizes.insert(sizes.end(), t.shape.begin(), t.shape.end());
  memory::dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  if (transposed) {
    std::swap(sizes[sizes.size() - 2], sizes[sizes.size() - 1]);
    std::swap(strides[sizes.size() - 2], strides[sizes.size() - 1]);
  }
  return {sizes, type, strides};
}

dnnl::matmul::primitive_desc describe_product(const Node& node, memory::data_type type) {
  const auto& o = node.as<MatmulNodeOptions>();
  int rank = node.output().shape.rank();
  memory::desc a = operand(node.input(0).type(), o.product.transpose_a, rank, type);
  memory::desc b = operand(node.input(1).type(), o.product.transpose_b, rank, type);
  memory::desc y = operand(node.output(), false, rank, type);
  memory::desc bias = o.bias ? operand(node.input(2).type(), false, rank, type) : memory::desc();
  return describe<dnnl::matmul>(workspace_attributes(), a, b, bias, y);
}

/// Any product by oneDNN's matmul primitive.
class OnednnMatmul final : public Kernel {
 public:
  OnednnMatmul(const Node& node, int threads, const dnnl::matmul::primitive_desc& d)
      : options_(node.as<MatmulNodeOptions>()),
        y_(node.output()),
        threads_(threads),
        primitive_(node.op().name, d, operands(d, options_.bias)) {}

  Bytes workspace() const override { return primitive_.scratch(); }
  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& arguments, Stream&) override {
    auto in = arguments.inputs;
    std::array<void*, 4> operands{in[0], in[1], arguments.outputs[0],
                                  options_.bias ? in[2] : nullptr};
    primitive_.run(std::span(operands).first(options_.bias ? 4 : 3), arguments.workspace);
    if (options_.activation == Activation::relu)
      relu_in_place(arguments.outputs[0], y_.dtype, y_.shape.elements(), threads_);
  }

 private:
  static std::vector<Primitive::Operand> operands(const dnnl::matmul::primitive_desc& d,
                                                  bool bias) {
    std::vector<Primitive::Operand> list = {{DNNL_ARG_SRC, d.src_desc()},
                                            {DNNL_ARG_WEIGHTS, d.weights_desc()},
                                            {DNNL_ARG_DST, d.dst_desc()}};
    if (bias) list.push_back({DNNL_ARG_BIAS, d.bias_desc()});
    return list;
  }

  MatmulNodeOptions options_;
  TensorType y_;
  int threads_;
  Primitive primitive_;
};

bool gemm_is_faster(const Node& node) {
  const MatmulOptions& o = node.as<MatmulNodeOptions>().product;
  return !o.transpose_b && (o.transpose_a || node.output().shape[1] >= 48);
}

std::unique_ptr<Kernel> make(const Node& node, int threads) {
  auto type = onednn_type(node.output().dtype);
  bool empty = std::any_of(node.inputs().begin(), node.inputs().end(),
                           [](const Tensor& t) { return t.shape().elements() == 0; });
  if (!type || empty) return nullptr;
  bool f32_matrix = node.output().dtype == DType::f32 && node.output().shape.rank() == 2;
  if (f32_matrix && gemm_is_faster(node)) return std::make_unique<OnednnGemm>(node, threads);
  return make_onednn_kernel(node, threads, [&]() -> std::unique_ptr<Kernel> {
    auto d = describe_product(node, *type);
    if (slower_than_f32(node.output().dtype, d.impl_info_str())) return nullptr;
    return std::make_unique<OnednnMatmul>(node, threads, d);
  });
}

const KernelRegistration registration(matmul_op, make);

}  // namespace
}  // namespace belfry::cpu
