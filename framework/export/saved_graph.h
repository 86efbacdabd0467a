#pragma once
// A model's predictions as data: nodes by the names of their ops, for batches of any number of
// rows, and of steps where these are free. These data are in graph.json, and model.onnx is made
// from them.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "belfry/framework/export/predictor.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry::saved {

/// A list of numbers. With a class of ours among its types std::variant remembers that a copy could
/// not be made: with vectors and strings alone libstdc++ 12 destroys what is not there when memory
/// runs out.
struct Numbers : std::vector<double> {
  Numbers(std::vector<double> numbers) : std::vector<double>(std::move(numbers)) {}
};

/// The value of an option. Types are texts, and so may be a number that follows the batch.
using Value = std::variant<bool, Extent, double, std::string, std::vector<Extent>, Numbers>;

struct Option {
  std::string name;
  Value value;
};

/// Output number `output` of an earlier node.
struct Operand {
  int node = 0;
  int output = 0;
  bool operator==(const Operand&) const = default;
};

struct Node {
  std::string op;
  std::string scope;  ///< path, for messages
  std::vector<Operand> inputs;
  std::vector<Option> options;  ///< of a variable: name and type alone; none of a constant
  std::vector<Type> outputs;
  /// The value of a constant. One whose type follows the batch has here
  ///   - a scalar, which all elements equal, or
  ///   - the value for the most steps; for fewer, the first ones along each axis are taken.
  Array value = {};
  bool is_longest() const;  ///< the second of these
  /// The elements of a constant in place of `value`: whole numbers, some of which follow the steps.
  std::vector<Extent> elements = {};

  /// The option of this name; Error when there is none.
  const Value& option(std::string_view name) const;
};

/// The first elements of `value` along each axis, as many as `shape` has. Error: it has fewer.
Array beginning(const Array& value, const Shape& shape);

/// "conv2d (at conv1)", for messages.
std::string to_string(const Node& node);

/// The computation of one of the ways to call a model.
struct Signature {
  std::vector<Node> nodes;  ///< every node comes after its inputs
  std::vector<std::pair<std::string, Operand>> outputs;
  std::int64_t most_steps = 0;  ///< the largest t; 0: no size is t
  ExampleInputs examples = {};
  std::string preparation = {};  ///< JSON, see ExportSignature::preparation

  /// Nodes that are fed by the caller; the others that are inputs are fed by the runtime.
  std::vector<const Node*> inputs() const;
  const Type& type(Operand operand) const;
};

/// A whole graph.json, with the elements of its constants.
struct Model {
  std::map<std::string, Signature, std::less<>> signatures;
  std::int64_t step = 0;   ///< finished steps of the checkpoint
  std::uint64_t seed = 0;  ///< of random numbers
};

bool is_run_input(std::string_view name);  ///< fed by the runtime: the step, random numbers, ...

/// How deep values of graph.json may nest.
constexpr int deepest_json = 100;

/// The model as JSON. Elements of constants that are many go to `weights` under names of their own.
std::string to_json(const Model& model, NamedArrays& weights);
/// Inverse of to_json. Error: no such JSON, or a constant that `weights` has not; the place is
/// named. What the nodes mean is checked when they are instantiated.
Model model_from_json(std::string_view json, const NamedArrays& weights);

}  // namespace belfry::saved
