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

/// A node of the same op, inputs' shapes and options in a graph of its own, in f32.
struct Twin {
  explicit Twin(const Node& node) {
    std::vector<int> written = node.mutated();
    std::vector<Tensor> inputs;
    for (const Tensor& t : node.inputs()) {
      std::string name = "x" + text(inputs.size());
      bool variable = std::find(written.begin(), written.end(), static_cast<int>(inputs.size()))
                      != written.end();
      inputs.push_back(
          variable ? Tensor(graph->add(
              variable_op, {}, VariableOptions{.name = name, .type = widened(t.type())}, {}))
                   : input(*graph, name, widened(t.type())));
    }
    this->node = &graph->add(node.op(), std::move(inputs), node.options(),
                             {node.scope(), node.slot(), node.phase(), node.first_row()});
  }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Node* node = nullptr;
};

/// An operand of 16 bits and its place in f32 in the workspace, or any other, which is used as it
/// is.
struct Operand {
  std::unique_ptr<Kernel> load = nullptr, store = nullptr;  // those that are needed
  std::int64_t at = 0;
  bool converted() const { return load || store; }
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
    pack_->run({{&wide, 1}, a.outputs, static_cast<std::byte*>(a.workspace) + bytes_}, stream);
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
    std::vector<int> written = node.mutated();
    auto among = [](const auto& list, int i) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      inputs_.push_back(
          operand(node.input(i).type(), !among(packed_places_, i), among(written, i), threads));
    for (const TensorType& type : node.outputs())
      outputs_.push_back(operand(type, false, true, threads));
    addresses_.resize(inputs_.size() + outputs_.size());
  }

  Bytes workspace() const override { return Bytes(bytes_ + kernel_->workspace().count); }
  std::vector<PackedInput> packed_inputs() const override { return packed_; }
  std::string_view implementation() const override { return implementation_; }

  void run(const KernelArguments& a, Stream& stream) override {
    auto* workspace = static_cast<std::byte*>(a.workspace);
    auto address = [&](const Operand& o, void* given) {
      return o.converted() ? workspace + o.at : given;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      addresses_[i] = address(inputs_[i], a.inputs[i]);
      convert(inputs_[i].load, a.inputs[i], addresses_[i], stream);
    }
    std::span<void*> in = std::span(addresses_).first(inputs_.size()),
                     out = std::span(addresses_).subspan(inputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i) out[i] = address(outputs_[i], a.outputs[i]);
    kernel_->run({in, out, workspace + bytes_}, stream);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      convert(outputs_[i].store, out[i], a.outputs[i], stream);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      convert(inputs_[i].store, in[i], a.inputs[i], stream);
  }

 private:
  static void convert(const std::unique_ptr<Kernel>& cast, void* from, void* to, Stream& stream) {
    if (cast) cast->run({{&from, 1}, {&to, 1}}, stream);
  }

  Operand operand(const TensorType& type, bool load, bool store, int threads) {
    Operand o;
    if (!has_16_bits(type.dtype) || !(load || store)) return o;
    std::int64_t elements = type.shape.elements();
    if (load) o.load = make_cast_kernel(type.dtype, DType::f32, elements, threads);
    if (store) o.store = make_cast_kernel(DType::f32, type.dtype, elements, threads);
    o.at = bytes_;
    bytes_ += aligned(widened(type).bytes());
    return o;
  }

  void pack(const Node& node, PackedInput p, int threads) {
    const TensorType& type = node.input(p.input).type();
    packed_places_.push_back(p.input);
    if (has_16_bits(type.dtype)) {
      p.layout += " of f32";
      p.pack = std::make_shared<WidenedPack>(type, p.pack, threads);
    }
    packed_.push_back(std::move(p));
  }

  Twin twin_;
  std::unique_ptr<Kernel> kernel_;
  std::string implementation_;
  std::vector<PackedInput> packed_;
  std::vector<int> packed_places_;
  std::vector<Operand> inputs_, outputs_;
  std::int64_t bytes_ = 0;  // of operands in the workspace
  std::vector<void*> addresses_;
};

}  // namespace

std::unique_ptr<Kernel> make_widened_kernel(const Node& node, int threads) {
  auto narrow = [](const TensorType& type) { return has_16_bits(type.dtype); };
  auto narrow_input = [&](const Tensor& t) { return narrow(t.type()); };
  if (std::none_of(node.inputs().begin(), node.inputs().end(), narrow_input)) return nullptr;
  Twin twin(node);
  // An op whose options name a type of 16 bits has no such twin.
  const auto& outputs = twin.node->outputs();
  if (std::any_of(outputs.begin(), outputs.end(), narrow)) return nullptr;
  auto kernel = find_kernel(*twin.node, threads);
  if (!kernel) return nullptr;
  return std::make_unique<WidenedKernel>(node, std::move(twin), std::move(kernel), threads);
}

}  // namespace belfry::cpu
