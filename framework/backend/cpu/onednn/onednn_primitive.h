#pragma once
// The common parts of kernels on oneDNN: primitives with their operands bound, layouts as texts,
// errors.

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

const dnnl::engine& onednn_engine();

/// oneDNN's name of an element type; nothing for types that its kernels here do not take.
std::optional<dnnl::memory::data_type> onednn_type(DType dtype);

/// Whether oneDNN uses the processor's instructions for bf16, if it has them.
bool multiplies_bf16();

/// Whether oneDNN's implementation of this name computes in `dtype` more slowly than an f32 one
/// would between conversions: for 16 bits its reference, and products that round by shifting bits
/// where the processor has no instructions for bf16.
bool slower_than_f32(DType dtype, std::string_view implementation,
                     bool bf16_instructions = multiplies_bf16());

/// A text that two descriptors share only if the same bytes mean the same elements under both.
std::string layout_text(const dnnl::memory::desc& layout);

inline Bytes size_of(const dnnl::memory::desc& layout) { return Bytes(layout.get_size()); }
/// Up to the next place where a buffer may start.
inline Bytes aligned(Bytes size) { return Bytes((size.count + 63) / 64 * 64); }

/// Sets the number of threads for which oneDNN prepares primitives, while it lives.
class ThreadsGuard {
 public:
  explicit ThreadsGuard(int threads);
  ~ThreadsGuard();
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  int previous_;
};

/// Throws: oneDNN could not do `what` for `op`.
[[noreturn]] void fail_onednn(std::string_view op, std::string_view what, dnnl_status_t status);

/// Attributes that let scratch memory come from the plan's workspace.
dnnl::primitive_attr workspace_attributes();

/// Runs `make`, which prepares a kernel of `node` for `threads` threads, and returns what it
/// returns; null when oneDNN has no implementation. Other failures of oneDNN are Errors naming op
/// and status.
std::unique_ptr<Kernel> make_onednn_kernel(const Node& node, int threads,
                                           const std::function<std::unique_ptr<Kernel>()>& make);

/// A primitive and its operands. Everything but addresses is settled at construction. Used by one
/// thread at a time.
class Primitive {
 public:
  struct Operand {
    int argument = 0;  ///< DNNL_ARG_...
    dnnl::memory::desc layout = {};
  };
  Primitive(std::string_view op, const dnnl::primitive_desc_base& description,
            const std::vector<Operand>& operands);

  Bytes scratch() const { return scratch_; }
  /// Runs on the operands at `addresses`, in the constructor's order, with scratch() bytes at
  /// `scratch`.
  void run(std::span<void* const> addresses, void* scratch);

 private:
  void bind(std::size_t operand, void* address);

  std::string_view op_;
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  Bytes scratch_{0};
  std::vector<dnnl::memory> operands_;  // the last one is scratch memory if any is needed
  std::vector<void*> addresses_;        // to which operands_ are bound
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// The product a b = y of matrices, by oneDNN's matmul primitive; operands in this order.
Primitive matrix_product(std::string_view op, const dnnl::memory::desc& a,
                         const dnnl::memory::desc& b, const dnnl::memory::desc& y,
                         const dnnl::primitive_attr& attributes = workspace_attributes());

/// Copies its input into another layout.
class ReorderKernel final : public Kernel {
 public:
  ReorderKernel(std::string_view op, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  Bytes workspace() const override { return reorder_.scratch(); }
  std::string_view implementation() const override { return "onednn"; }
  void run(const KernelArguments& arguments, Stream& stream) override;

 private:
  Primitive reorder_;
};

/// Input `input` of a kernel in the layout `wanted` in place of `plain`; empty when they are equal.
std::vector<PackedInput> pack_input(std::string_view op, int input, const dnnl::memory::desc& plain,
                                    const dnnl::memory::desc& wanted);

}  // namespace belfry::cpu
