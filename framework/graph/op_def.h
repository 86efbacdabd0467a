#pragma once
// The definition of an op: one object with its shape rule, its gradient and a plain reference
// kernel. Options of nodes in a form that can be printed, compared, hashed and written to a file.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <variant>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry {

/// One option's value.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, Array>;

std::string to_string(const Attribute& attribute);  ///< "true", "0.5", "[1, 1]"

/// A field of a struct of options.
struct NamedAttribute {
  std::string name;  ///< the field's
  Attribute value;   ///< the field's
};

namespace detail {

/// Takes the fields of a struct of options, as attributes. What it does is not inline, as every
/// such struct would have it once more.
class AttributeWriter {
 public:
  AttributeWriter();
  ~AttributeWriter();
  AttributeWriter(const AttributeWriter&) = delete;

  template <class T>
  void operator()(std::string_view name, const T& value, Limits = {}) {
    if constexpr (std::same_as<T, bool> || std::same_as<T, std::string> || std::same_as<T, Array>) {
      write(name, value);
    } else if constexpr (std::integral<T>) {
      write(name, static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      write(name, static_cast<double>(value));
    } else if constexpr (requires { value.array(); }) {  // sizes of a grid
      (*this)(name, value.array());
    } else if constexpr (requires { std::begin(value); }) {  // Shape, arrays, vectors of numbers
      using Element = std::decay_t<decltype(*std::begin(value))>;
      using Number = std::conditional_t<std::floating_point<Element>, double, std::int64_t>;
      write(name, std::vector<Number>(std::begin(value), std::end(value)));
    } else {
      write(name, std::string(to_string(value)));  // DType, enumerations, small structs
    }
  }

  std::shared_ptr<const std::vector<NamedAttribute>> attributes() const;

 private:
  void write(std::string_view name, bool value);
  void write(std::string_view name, std::int64_t value);
  void write(std::string_view name, double value);
  void write(std::string_view name, std::string value);
  void write(std::string_view name, std::vector<std::int64_t> value);
  void write(std::string_view name, std::vector<double> value);
  void write(std::string_view name, const Array& value);

  std::shared_ptr<std::vector<NamedAttribute>> list_;
};

}  // namespace detail

/// A node's options: the struct itself for shape rules and kernels, and its fields as attributes
/// for printing, comparing, hashing and writing. A field's type is bool, a number, std::string,
/// Shape, a container of numbers, Array, or anything with to_string() that tells all of its values
/// apart. Immutable; copies share.
class Options {
 public:
  Options();  ///< none
  /// A copy of a struct, with its fields as attributes.
  template <OptionStruct T>
  Options(const T& value)  // NOLINT(google-explicit-constructor): apply(op, inputs, {.k = 1})
      : value_(std::make_shared<T>(value)), type_(typeid(T)) {
    detail::AttributeWriter writer;
    T::fields(value, writer);
    attributes_ = writer.attributes();
  }
  /// Copies share the struct and its attributes.
  ///@{
  Options(const Options&);
  Options(Options&&) noexcept;
  Options& operator=(const Options&);
  Options& operator=(Options&&) noexcept;
  ///@}
  ~Options();

  /// The struct; Error (ours) when it is of another type.
  template <OptionStruct T>
  const T& as() const {
    ensure(type_ == typeid(T), "options are of another type than the op expects");
    return *static_cast<const T*>(value_.get());
  }

  std::span<const NamedAttribute> attributes() const;  ///< in the order of the fields
  /// Whether the structs are of one type and the attributes the same, numbers bit for bit: NaN
  /// equals itself and 0 differs from -0.
  bool operator==(const Options& other) const;
  std::uint64_t hash() const;  ///< equal ones have equal hashes, within one process

 private:
  std::shared_ptr<const void> value_;
  std::type_index type_ = typeid(void);
  std::shared_ptr<const std::vector<NamedAttribute>> attributes_;
};

std::string to_string(const Options& options);  ///< "beta=1, axis=-1"; empty when there are none

class Graph;
class Node;
class Tensor;
class GradContext;

/// The context of a shape rule.
struct ShapeContext {
  std::string_view op;                 ///< the op's name, for messages
  std::span<const TensorType> inputs;  ///< types of the node's inputs
  const Options& options;              ///< the node's

  /// The options as the op's struct.
  template <OptionStruct T>
  const T& as() const {
    return options.as<T>();
  }
};

/// An operand of a kernel: its type and its elements, row-major.
struct ArrayView {
  TensorType type;       ///< shape and dtype
  void* data = nullptr;  ///< in memory of the host

  /// Parts of the type.
  ///@{
  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  std::int64_t elements() const { return type.shape.elements(); }
  ///@}
  /// The elements as T, which must be the C++ type of dtype(). Not checked.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// The context of a reference kernel. Inputs are read-only unless the op mutates them.
struct KernelContext {
  std::string_view op;                 ///< the op's name, for messages
  std::span<const ArrayView> inputs;   ///< the node's, in order
  std::span<const ArrayView> outputs;  ///< the kernel fills them
  const Options& options;              ///< the node's

  /// An operand by its number, which is not checked.
  ///@{
  const ArrayView& input(int i) const { return inputs[i]; }
  const ArrayView& output(int i = 0) const { return outputs[i]; }
  ///@}
  /// The options as the op's struct.
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
  std::string_view name;            ///< "conv2d", other than any other op's
  ShapeRule shape = nullptr;        ///< never null
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
  Autocast autocast = Autocast::none;  ///< how mixed precision casts its inputs
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
