#include "belfry/framework/backend/cpu/widened_kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry::cpu {
namespace {

/// Where a buffer may start next.
std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

TensorType widened(TensorType type) {
  if (has_16_bits(type.dtype)) type.dtype = DType::f32;
  return type;
}

/// A node of the same op, inputs' shapes and options in f32. It lives as long as its kernel, which
/// may refer to it.
struct Twin {
  explicit Twin(const Node& node) {
    std::vector<Tensor> inputs;
    for (const Tensor& t : node.inputs())
      inputs.push_back(input(*graph, "x" + text(inputs.size()), widened(t.type())));
    this->node = &graph->add(node.op(), std::move(inputs), node.options(),
                             {node.scope(), node.device(), node.phase(), node.first_row()});
  }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Node* node = nullptr;
};

/// The conversion of an operand of 16 bits, and its place in f32 in the workspace. None for any
/// other operand, which is used as it is.
struct Operand {
  std::unique_ptr<Kernel> cast = nullptr;
  std::int64_t at = 0;
};

/// Packs an input that it makes f32 first.
class WidenedPack final : public Kernel {
 public:
  WidenedPack(const TensorType& type, std::shared_ptr<Kernel> pack, int threads)
      : widen_(make_cast_kernel(type.dtype, DType::f32, type.shape.elements(), threads)),
        pack_(std::move(pack)),
        bytes_(aligned(widened(type).bytes())) {}

  Bytes workspace() const override { return Bytes(bytes_ + pack_->workspace().count); }
  std::string_view implementation() const override { return pack_->implementation(); }

  void run(const KernelArguments& a, Stream& stream) override {
    void* wide = a.workspace;
    widen_->run({a.inputs, {&wide, 1}}, stream);
    pack_->run({{&wide, 1}, a.outputs, a.scratch<std::byte>() + bytes_}, stream);
  }

 private:
  std::unique_ptr<Kernel> widen_;
  std::shared_ptr<Kernel> pack_;
  std::int64_t bytes_;
};

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const Node& node, Twin twin, std::unique_ptr<Kernel> kernel, int threads)
      : twin_(std::move(twin)),
        kernel_(std::move(kernel)),
        implementation_(concat(kernel_->implementation(), " f32")) {
    for (PackedInput& p : kernel_->packed_inputs()) pack(node, std::move(p), threads);
    for (int i = 0; i < std::ssize(node.inputs()); ++i) {
      bool is_packed = std::any_of(packed_.begin(), packed_.end(),
                                   [i](const PackedInput& p) { return p.input == i; });
      DType dtype = node.input(i).dtype();
      inputs_.push_back(is_packed ? Operand{}
                                  : operand(node.input(i).type(), dtype, DType::f32, threads));
    }
    for (const TensorType& type : node.outputs())
      outputs_.push_back(operand(type, DType::f32, type.dtype, threads));
    addresses_.resize(inputs_.size() + outputs_.size());
  }

  Bytes workspace() const override { return Bytes(bytes_ + kernel_->workspace().count); }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return implementation_; }

  void run(const KernelArguments& a, Stream& stream) override {
    auto* workspace = a.scratch<std::byte>();
    auto address = [&](const Operand& o, void* given) { return o.cast ? workspace + o.at : given; };
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      addresses_[i] = address(inputs_[i], a.inputs[i]);
      convert(inputs_[i], a.inputs[i], addresses_[i], stream);
    }
    std::span<void*> in = std::span(addresses_).first(inputs_.size()),
                     out = std::span(addresses_).subspan(inputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i) out[i] = address(outputs_[i], a.outputs[i]);
    kernel_->run({in, out, workspace + bytes_}, stream);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      convert(outputs_[i], out[i], a.outputs[i], stream);
  }

 private:
  static void convert(const Operand& operand, void* from, void* to, Stream& stream) {
    if (operand.cast) operand.cast->run({{&from, 1}, {&to, 1}}, stream);
  }

  Operand operand(const TensorType& type, DType from, DType to, int threads) {
    Operand o;
    if (!has_16_bits(type.dtype)) return o;
    o.cast = make_cast_kernel(from, to, type.shape.elements(), threads);
    o.at = bytes_;
    bytes_ += aligned(widened(type).bytes());
    return o;
  }

  void pack(const Node& node, PackedInput p, int threads) {
    const TensorType& type = node.input(p.input).type();
    if (has_16_bits(type.dtype)) p.pack = std::make_shared<WidenedPack>(type, p.pack, threads);
    packed_.push_back(std::move(p));
  }

  Twin twin_;
  std::unique_ptr<Kernel> kernel_;
  std::string implementation_;
  std::vector<PackedInput> packed_;
  std::vector<Operand> inputs_, outputs_;
  std::int64_t bytes_ = 0;  // of operands in the workspace
  std::vector<void*> addresses_;
};

}  // namespace

std::unique_ptr<Kernel> make_widened_kernel(const Node& node, const KernelOptions& options) {
  auto narrow = [](const TensorType& type) { return has_16_bits(type.dtype); };
  auto narrow_input = [&](const Tensor& t) { return narrow(t.type()); };
  if (std::none_of(node.inputs().begin(), node.inputs().end(), narrow_input)) return nullptr;
  // All of a variable would be converted and rounded, of which an update may touch a few rows.
  if (!node.mutated().empty()) return nullptr;
  Twin twin(node);
  // An op whose options name a type of 16 bits has no such twin.
  const auto& outputs = twin.node->outputs();
  if (std::any_of(outputs.begin(), outputs.end(), narrow)) return nullptr;
  auto kernel = find_kernel(*twin.node, options);
  if (!kernel) return nullptr;
  return std::make_unique<WidenedKernel>(node, std::move(twin), std::move(kernel), options.threads);
}

}  // namespace belfry::cpu
