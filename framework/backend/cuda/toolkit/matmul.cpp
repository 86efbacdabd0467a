// matmul on cuBLASLt. Its own ReLU is not used: nothing says that it keeps NaN, and a run that has
// diverged must show it.

#include <cublasLt.h>

#include <algorithm>
#include <optional>

#include "belfry/framework/backend/cuda/kernels/elementwise/bias_activation.h"
#include "belfry/framework/backend/cuda/kernels/layout.h"
#include "belfry/framework/backend/cuda/quietly.h"
#include "belfry/framework/backend/cuda/stream.h"
#include "belfry/framework/backend/cuda/toolkit/of_device.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/ops/defs.h"

namespace belfry::cuda {
namespace {

// The workspace that NVIDIA recommends for Hopper; an algorithm takes as much of it as it has use
// for.
constexpr std::uint64_t most_workspace = std::uint64_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  ensure(status == CUBLAS_STATUS_SUCCESS, call, ": ", cublasLtGetStatusString(status));
}

/// Used from any thread.
struct CublasHandle {
  explicit CublasHandle(const Gpu& gpu) : api(gpu.api), index(gpu.index) {
    check(cublasLtCreate(&handle), "cublasLtCreate");
  }
  ~CublasHandle() {
    quietly([&] { api.use(index); });
    cublasLtDestroy(handle);
  }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  Api& api;
  int index;
  cublasLtHandle_t handle = nullptr;
};

struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

std::optional<Types> types_of(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::f32:
      return Types{CUDA_R_32F, CUDA_R_32F,
                   tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
    case DType::bf16:
      return Types{CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::f16:
      return Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::f64:
      return Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    default:
      return std::nullopt;
  }
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& d, cublasLtMatmulDescAttributes_t attribute, T value) {
  check(cublasLtMatmulDescSetAttribute(&d, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(cublasLtMatrixLayoutOpaque_t& l, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  check(cublasLtMatrixLayoutSetAttribute(&l, attribute, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
}
template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& p, cublasLtMatmulPreferenceAttributes_t attribute,
         T value) {
  check(cublasLtMatmulPreferenceSetAttribute(&p, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

struct Batches {
  std::int64_t count = 1, stride_a = 0, stride_b = 0;  // strides in elements
};

/// Nothing where the operands repeat so that one distance between matrices does not say it.
std::optional<Batches> batches_of(const Shape& a, const Shape& b, const Shape& y) {
  Shape batch = leading(y);
  auto layout = make_layout<2>(
      batch, {broadcast_strides(leading(a), batch), broadcast_strides(leading(b), batch)});
  auto matrix = [](const Shape& s) { return s[s.rank() - 2] * s[s.rank() - 1]; };
  if (layout.rank > 1 || batch.elements() > INT32_MAX) return std::nullopt;
  if (layout.rank == 0) return Batches{};
  return Batches{layout.sizes[0], layout.strides[0][0] * matrix(a),
                 layout.strides[1][0] * matrix(b)};
}

/// The last two axes of a row-major array, which cuBLAS reads by columns: as their transpose.
cublasLtMatrixLayoutOpaque_t layout_of(const Shape& shape, cudaDataType_t type,
                                       std::int64_t batches, std::int64_t stride) {
  std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  cublasLtMatrixLayoutOpaque_t layout;
  check(cublasLtMatrixLayoutInit(&layout, type, columns, rows, columns),
        "cublasLtMatrixLayoutInit");
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batches));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

/// y' = b' a', a prime being the transpose that cuBLAS sees: its first factor is our b.
struct Product {
  cublasLtMatmulDescOpaque_t description;
  cublasLtMatrixLayoutOpaque_t a, b, y;
  cublasLtMatmulHeuristicResult_t algorithm;
  bool bias_inside = false;
  bool f64 = false;

  Product(const Node& node, const Types& types, const Batches& batches) {
    const auto& o = node.as<MatmulNodeOptions>();
    const Shape &sa = node.input(0).shape(), &sb = node.input(1).shape();
    const Shape& sy = node.output().shape;
    a = layout_of(sa, types.data, batches.count, batches.stride_a);
    b = layout_of(sb, types.data, batches.count, batches.stride_b);
    y = layout_of(sy, types.data, batches.count, sy[sy.rank() - 2] * sy[sy.rank() - 1]);
    f64 = types.data == CUDA_R_64F;
    check(cublasLtMatmulDescInit(&description, types.compute, types.scale),
          "cublasLtMatmulDescInit");
    auto operation = [](bool transposed) -> std::int32_t {
      return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(o.product.transpose_b));
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(o.product.transpose_a));
  }

  void add_bias_inside(bool inside) {
    bias_inside = inside;
    std::uint32_t epilogue = inside ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    // Its alignment is what the search looks at.
    if (inside) set_bias(reinterpret_cast<const void*>(std::uintptr_t{alignment_of_operands}));
  }
  void set_bias(const void* bias) { set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  /// Takes the algorithm that cuBLAS expects to be the fastest; false when it has none.
  bool find_algorithm(cublasLtHandle_t handle) {
    cublasLtMatmulPreferenceOpaque_t wanted;
    check(cublasLtMatmulPreferenceInit(&wanted), "cublasLtMatmulPreferenceInit");
    set(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    // Partial sums are kept in float and added in a step of their own: the same bits in every run.
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    set(wanted, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    for (auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(wanted, operand, alignment_of_operands);
    int found = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, &description, &b, &a, &y, &y,
                                                           &wanted, 1, &algorithm, &found);
    // A product that cuBLASLt refuses, in whatever words, runs on Belfry's kernel.
    return status == CUBLAS_STATUS_SUCCESS && found > 0 && algorithm.state == CUBLAS_STATUS_SUCCESS;
  }
};

std::int64_t last_of(const Node& node) {
  const Shape& y = node.output().shape;
  return y[y.rank() - 1];
}

class CublasMatmul final : public Kernel {
 public:
  CublasMatmul(std::shared_ptr<CublasHandle> library, std::unique_ptr<Product> product,
               const Node& node)
      : library_(std::move(library)),
        product_(std::move(product)),
        bias_(node.as<MatmulNodeOptions>().bias),
        behind_{.dtype = node.output().dtype,
                .rows = node.output().shape.elements() / last_of(node),
                .columns = last_of(node),
                .relu = node.as<MatmulNodeOptions>().activation == Activation::relu} {}

  Bytes workspace() const override { return workspace_for(product_->algorithm.workspaceSize); }
  std::string_view implementation() const override { return "cublas"; }

  void run(const KernelArguments& arguments, Stream& stream) override {
    void* y = arguments.outputs[0];
    const void* bias = bias_ ? arguments.inputs[2] : nullptr;
    if (product_->bias_inside) product_->set_bias(bias);
    double one64 = 1, zero64 = 0;
    float one32 = 1, zero32 = 0;
    const void* alpha = product_->f64 ? static_cast<const void*>(&one64) : &one32;
    const void* beta = product_->f64 ? static_cast<const void*>(&zero64) : &zero32;
    check(cublasLtMatmul(library_->handle, &product_->description, alpha, arguments.inputs[1],
                         &product_->b, arguments.inputs[0], &product_->a, beta, y, &product_->y, y,
                         &product_->y, &product_->algorithm.algo, scratch_at(arguments.workspace),
                         product_->algorithm.workspaceSize, handle_of(stream)),
          "cublasLtMatmul");
    enqueue_bias_activation(stream, behind_, y, product_->bias_inside ? nullptr : bias);
  }

 private:
  std::shared_ptr<CublasHandle> library_;
  std::unique_ptr<Product> product_;
  bool bias_;
  BiasActivation behind_;
};

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions& options) {
  const Shape &a = node.input(0).shape(), &b = node.input(1).shape(), &y = node.output().shape;
  auto types = types_of(node.output().dtype, options.tf32);
  if (!types || a.elements() == 0 || b.elements() == 0) return nullptr;
  auto batches = batches_of(a, b, y);
  if (!batches) return nullptr;
  auto library = of_device<CublasHandle>(gpu);
  auto product = std::make_unique<Product>(node, *types, *batches);
  bool bias = node.as<MatmulNodeOptions>().bias;
  product->add_bias_inside(bias);
  bool found = product->find_algorithm(library->handle);
  if (!found && bias) {
    product->add_bias_inside(false);
    found = product->find_algorithm(library->handle);
  }
  if (!found) return nullptr;
  return std::make_unique<CublasMatmul>(std::move(library), std::move(product), node);
}

const KernelRegistration registration(matmul_op, make, Preference::library);

}  // namespace
}  // namespace belfry::cuda
