#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"

#include <dnnl_debug.h>
#include <omp.h>

#include <array>

#include "belfry/framework/backend/cpu/onednn/onednn_api.h"

namespace belfry::cpu {
namespace {

std::string numbers(const dnnl::memory::dims& values) { return join(std::span(values), ","); }

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<dnnl::memory::data_type> onednn_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

bool multiplies_bf16() {
  auto bits = [](dnnl::cpu_isa isa) { return static_cast<int>(isa); };
  int wanted = bits(dnnl::cpu_isa::avx512_core_bf16);
  return (bits(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

bool slower_than_f32(DType dtype, std::string_view implementation, bool bf16_instructions) {
  if (dtype == DType::f32) return false;
  bool product = implementation.starts_with("gemm") || implementation.starts_with("x64:gemm");
  return implementation.starts_with("ref") || implementation.starts_with("simple")
         || (product && !bf16_instructions);
}

std::string layout_text(const dnnl::memory::desc& layout) {
  BlockedLayout b = blocked_layout(layout);
  return concat("onednn ", dnnl_dt2str(dnnl::memory::convert_to_c(b.type)), " dims ",
                numbers(b.sizes), " padded ", numbers(b.padded), " strides ", numbers(b.strides),
                " blocks ", numbers(b.blocks), " of ", numbers(b.blocked_axes), " bytes ",
                layout.get_size());
}

ThreadsGuard::ThreadsGuard(int threads) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ThreadsGuard::~ThreadsGuard() { omp_set_num_threads(previous_); }

void fail_onednn(std::string_view op, std::string_view what, dnnl_status_t status) {
  fail(op, ": oneDNN could not ", what, ": ", dnnl_status2str(status));
}

dnnl::primitive_attr workspace_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::unique_ptr<Kernel> make_onednn_kernel(const Node& node, int threads,
                                           const std::function<std::unique_ptr<Kernel>()>& make) {
  ThreadsGuard guard(threads);
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    fail_onednn(node.op().name, "prepare the primitive", error.status);
  }
}

Primitive::Primitive(std::string_view op, const dnnl::primitive_desc_base& description,
                     const std::vector<Operand>& operands)
    : op_(op), primitive_(description.get()), stream_(onednn_engine()) {
  dnnl::memory::desc scratch = description.scratchpad_desc();
  scratch_ = size_of(scratch);
  std::vector<Operand> all = operands;
  if (scratch_.count > 0) all.push_back({DNNL_ARG_SCRATCHPAD, scratch});
  for (const Operand& operand : all) {
    operands_.emplace_back(operand.layout, onednn_engine(), nullptr);
    arguments_.push_back({operand.argument, operands_.back().get()});
  }
  addresses_.resize(all.size());
}

// Addresses stay the same until the arena moves, and setting one makes oneDNN clear a layout's
// padding.
void Primitive::bind(std::size_t operand, void* address) {
  if (addresses_[operand] == address) return;
  dnnl_status_t status = dnnl_memory_set_data_handle(operands_[operand].get(), address);
  if (status != dnnl_success) fail_onednn(op_, "bind an operand", status);
  addresses_[operand] = address;
}

void Primitive::run(std::span<void* const> addresses, void* scratch) {
  for (std::size_t i = 0; i < addresses.size(); ++i) bind(i, addresses[i]);
  if (scratch_.count > 0) bind(addresses.size(), scratch);
  // The C interface takes the prepared list; the C++ one would build a map at each call.
  dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), arguments_.size(), arguments_.data());
  if (status != dnnl_success) fail_onednn(op_, "run the primitive", status);
}

Primitive matrix_product(std::string_view op, const dnnl::memory::desc& a,
                         const dnnl::memory::desc& b, const dnnl::memory::desc& y,
                         const dnnl::primitive_attr& attributes) {
  return {op,
          describe<dnnl::matmul>(attributes, a, b, dnnl::memory::desc(), y),
          {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}}};
}

ReorderKernel::ReorderKernel(std::string_view op, const dnnl::memory::desc& from,
                             const dnnl::memory::desc& to)
    : reorder_(op,
               dnnl::reorder::primitive_desc(onednn_engine(), from, onednn_engine(), to,
                                             workspace_attributes()),
               {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}) {}

void ReorderKernel::run(const KernelArguments& arguments, Stream&) {
  reorder_.run(std::array{arguments.inputs[0], arguments.outputs[0]}, arguments.workspace);
}

std::vector<PackedInput> pack_input(std::string_view op, int input, const dnnl::memory::desc& plain,
                                    const dnnl::memory::desc& wanted) {
  if (plain == wanted) return {};
  return {{.input = input,
           .layout = layout_text(wanted),
           .size = size_of(wanted),
           .pack = std::make_shared<ReorderKernel>(op, plain, wanted)}};
}

}  // namespace belfry::cpu
