// Convolutions and their gradients on cuDNN. Kernels of all convolutions are brought into its
// layout together, once a step, and their gradients back into ours.

#include <array>
#include <atomic>
#include <optional>

#include "belfry/framework/backend/cuda/kernels/elementwise/bias_activation.h"
#include "belfry/framework/backend/cuda/kernels/movement/transposes.h"
#include "belfry/framework/backend/cuda/toolkit/cudnn/convolution.h"
#include "belfry/framework/backend/cuda/toolkit/of_device.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

// [window, in / groups, out] and [out, window, in / groups] are each other's transpose.
PackedInput packed_weights(const Convolution& c, Bytes size) {
  std::int64_t rows = c.w().elements() / c.out_channels;
  auto pack = [&](DType from) { return make_transpose(rows, c.out_channels, from, c.dtype); };
  return {.input = 1,
          .layout = "cudnn krsc",
          .size = size,
          .pack = pack(c.dtype),
          .pack_uncast = size_of(c.dtype) == 2 ? pack(DType::f32) : nullptr};
}
PackedOutput packed_gradient(const Convolution& c, Bytes size) {
  std::int64_t columns = c.w().elements() / c.out_channels;
  auto unpack = [&](DType to) { return make_transpose(c.out_channels, columns, c.dtype, to); };
  return {.size = size,
          .unpack = unpack(c.dtype),
          .unpack_to_f32 = size_of(c.dtype) == 2 ? unpack(DType::f32) : nullptr};
}

/// The ops behind the convolution of a fused node.
struct Epilogue {
  bool bias = false;
  bool bias_inside = false;  ///< the plan adds it
  bool relu = false;  ///< not by the plan: no engine with tensor cores says that it keeps NaN
};

class CudnnConv final : public Kernel {
 public:
  CudnnConv(const Convolution& c, const Epilogue& epilogue, GraphPlan plan)
      : direction_(c.direction),
        epilogue_(epilogue),
        behind_{.dtype = c.dtype,
                .rows = c.y().elements() / c.out_channels,
                .columns = c.out_channels,
                .relu = epilogue.relu},
        plan_(std::move(plan)) {
    Bytes size(TensorType{c.w(), c.dtype}.bytes());
    if (direction_ == ConvDirection::kernel) {
      gradient_ = packed_gradient(c, size);
    } else {
      weights_ = {packed_weights(c, size)};
    }
    if (c.adds) addend_bytes_ = Bytes(TensorType{c.x(), c.dtype}.bytes());
  }

  Bytes workspace() const override { return workspace_for(plan_.workspace()); }
  std::vector<PackedInput> packed_inputs() const override { return weights_; }
  std::optional<PackedOutput> packed_output() const override { return gradient_; }
  std::string_view implementation() const override { return "cudnn"; }

  void run(const KernelArguments& arguments, Stream& stream) override {
    void *in0 = arguments.inputs[0], *in1 = arguments.inputs[1], *out = arguments.outputs[0];
    void* scratch = scratch_at(arguments.workspace);
    switch (direction_) {
      case ConvDirection::forward:
        return run_forward(arguments, scratch, stream);
      case ConvDirection::input:
        if (addend_bytes_.count > 0 && arguments.inputs[2] != out)
          stream.copy_on_device(out, arguments.inputs[2], addend_bytes_);
        return plan_.run(std::array{Operand{id_x, out}, Operand{id_w, in1}, Operand{id_y, in0}},
                         scratch, stream);
      case ConvDirection::kernel:
        return plan_.run(std::array{Operand{id_x, in0}, Operand{id_w, out}, Operand{id_y, in1}},
                         scratch, stream);
    }
  }

 private:
  void run_forward(const KernelArguments& arguments, void* scratch, Stream& stream) {
    void* y = arguments.outputs[0];
    void* bias = epilogue_.bias ? arguments.inputs[2] : nullptr;
    std::array<Operand, 4> operands{Operand{id_x, arguments.inputs[0]},
                                    Operand{id_w, arguments.inputs[1]}, Operand{id_y, y},
                                    Operand{id_bias, bias}};
    plan_.run(std::span(operands).first(epilogue_.bias_inside ? 4 : 3), scratch, stream);
    enqueue_bias_activation(stream, behind_, y, epilogue_.bias_inside ? nullptr : bias);
  }

  ConvDirection direction_;
  Epilogue epilogue_;
  BiasActivation behind_;
  GraphPlan plan_;
  std::vector<PackedInput> weights_;
  std::optional<PackedOutput> gradient_;
  Bytes addend_bytes_{0};  // 0: there is none
};

// A convolution that cuDNN refuses, in whatever words, runs on Belfry's kernel.
void warn_once(const Error& error) {
  static std::atomic<bool> said = false;
  if (!said.exchange(true))
    log_warning("where cuDNN fails, convolutions run on slower kernels: ", error.what());
}

std::unique_ptr<Kernel> make(const Convolution& c, Epilogue epilogue, const Gpu& gpu,
                             const KernelOptions& options) {
  if (c.x().elements() == 0 || c.y().elements() == 0) return nullptr;
  std::shared_ptr<CudnnHandle> library;
  auto find = [&](bool bias) -> std::optional<GraphPlan> {
    try {
      if (!library) library = of_device<CudnnHandle>(gpu);
      return find_plan(library, c, bias, options.tf32);
    } catch (const Error& error) {
      warn_once(error);
      return std::nullopt;
    }
  };
  auto plan = find(epilogue.bias);
  epilogue.bias_inside = epilogue.bias && plan;
  if (!plan && epilogue.bias) plan = find(false);
  if (!plan) return nullptr;
  return std::make_unique<CudnnConv>(c, epilogue, std::move(*plan));
}

std::unique_ptr<Kernel> make_forward(const Node& node, const Gpu& gpu,
                                     const KernelOptions& options) {
  const auto& o = node.as<ConvOptions>();
  return make(convolution_of(node, ConvDirection::forward),
              {.bias = o.bias, .relu = o.activation == Activation::relu}, gpu, options);
}

template <ConvDirection direction>
std::unique_ptr<Kernel> make_gradient(const Node& node, const Gpu& gpu,
                                      const KernelOptions& options) {
  return make(convolution_of(node, direction), {}, gpu, options);
}

constexpr auto make_grad_input = make_gradient<ConvDirection::input>;
constexpr auto make_grad_kernel = make_gradient<ConvDirection::kernel>;

const KernelRegistration registrations[] = {
    {conv2d_op, make_forward, Preference::library},
    {conv3d_op, make_forward, Preference::library},
    {conv2d_grad_input_op, make_grad_input, Preference::library},
    {conv3d_grad_input_op, make_grad_input, Preference::library},
    {conv2d_grad_kernel_op, make_grad_kernel, Preference::library},
    {conv3d_grad_kernel_op, make_grad_kernel, Preference::library}};

}  // namespace
}  // namespace belfry::cuda
