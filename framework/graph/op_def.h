#pragma once
// The definition of an op: one object with its shape rule, its gradient and a plain reference
// kernel.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/options.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry {

class Graph;
class Node;
class Tensor;
class GradContext;

/// The context of a shape rule.
struct ShapeContext {
  std::string_view op;  ///< the op's name, for messages
  std::span<const TensorType> inputs;
  const Options& options;

  template <OptionStruct T>
  const T& as() const {
    return options.as<T>();
  }
};

/// An operand of a kernel: its type and its elements, row-major.
struct ArrayView {
  TensorType type;
  void* data = nullptr;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  std::int64_t elements() const { return type.shape.elements(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// The context of a reference kernel. Inputs are read-only unless the op mutates them.
struct KernelContext {
  std::string_view op;
  std::span<const ArrayView> inputs;
  std::span<const ArrayView> outputs;
  const Options& options;

  const ArrayView& input(int i) const { return inputs[i]; }
  const ArrayView& output(int i = 0) const { return outputs[i]; }
  template <OptionStruct T>
  const T& as() const {
    return options.as<T>();
  }
};

/// The output types that follow from the input types. Error: what the caller got wrong, numbers in
/// the text; the caller adds the scope path.
using ShapeRule = std::vector<TensorType> (*)(const ShapeContext&);

/// The gradients with respect to the inputs, one for each, as new nodes in the same graph. An
/// undefined Tensor means that no gradient flows to that input.
using GradientRule = std::vector<Tensor> (*)(const GradContext&);

/// Computes the outputs on the host: clear before fast.
using ReferenceKernel = void (*)(const KernelContext&);

/// The treatment of floating inputs under mixed precision (ops/autocast.h).
enum class Autocast : std::uint8_t {
  none,    ///< nothing
  low,     ///< computes in 16 bits: f32 inputs become that
  f32,     ///< computes in f32: inputs of 16 bits become that
  widest,  ///< needs inputs of one type: beside one of f32, those of 16 bits become f32
};

/// An op: one object, in a file of framework/ops that has its name or that of its family. Fast
/// kernels are found by the op's name in the backend; the reference stays oracle and fallback.
struct OpDef {
  std::string_view name;
  ShapeRule shape = nullptr;
  GradientRule gradient = nullptr;  ///< null: differentiating through the op is an error
  ReferenceKernel reference =
      nullptr;  ///< null: a leaf without a kernel (input, variable, constant)

  /// Each element of output 0 depends on the elements of the (broadcast) inputs at its place alone,
  /// with no option but those of its functor: it may take part in a fused chain.
  bool elementwise = false;
  bool commutative = false;  ///< f(a, b) == f(b, a) bit for bit
  /// Output 0 is input 0 under another shape (reshape, stop_gradient): the two share memory and no
  /// kernel runs.
  bool view = false;
  /// Inputs that a kernel writes in place; they must be variables. A node with such inputs is an
  /// effect: it has no outputs and runs after everything that reads.
  std::vector<int> (*mutates)(const Node&) = nullptr;
  /// Inputs whose memory output 0 may take over where nobody reads them afterwards, the types
  /// match, and the node does not read the same value by another input.
  std::vector<int> (*in_place)(const Node&) = nullptr;
  /// Output i is input i reduced over the towers, in its place: the reference kernel is that of one
  /// tower. Never folded; all of a graph run in the order in which they were made.
  bool collective = false;
  Autocast autocast = Autocast::none;
  /// The operator of ONNX that computes the same of the same operands, "Exp"; empty: none does.
  std::string_view onnx = {};
  /// Floating-point operations of one execution: a multiply and an add are two. Null counts none.
  double (*flops)(const Node&) = nullptr;
};

/// Shape rules that many ops share.
std::vector<TensorType> same_shape(const ShapeContext& c);  ///< output type = type of input 0

/// A gradient rule for ops through which no gradient flows (comparisons, argmax, stop_gradient).
std::vector<Tensor> no_gradient(const GradContext&);

}  // namespace belfry
