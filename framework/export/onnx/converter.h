#pragma once
// The converter as the conversions of ops see it. Internal to export/onnx.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/export/onnx/onnx_file.h"
#include "belfry/framework/export/saved_graph.h"

namespace belfry::onnx {

using saved::Extent;
using saved::Operand;

/// Builds the graph. Values of images and volumes are kept as they come out of ONNX' ops, with
/// channels first, and brought into Belfry's order when an op asks for that, or the other way
/// round: each at most once. So between two convolutions nothing is transposed.
class Converter {
 public:
  Converter(const saved::Signature& signature, std::map<int, Array> constants);

  OnnxGraph convert(const std::string& name);

  // ---- for conversions, about the node at hand

  const saved::Node& node() const { return signature_.nodes[at_]; }
  const saved::Type& type(int input) const;  ///< of an input
  int rank(int input) const { return type(input).sizes.size(); }
  std::string input(int i) { return plain(node().inputs[i]); }
  /// The input with its channels in front of all axes but the first.
  std::string channels_first(int i);
  /// The elements of an input that depends on weights alone; null: it does not.
  const Array* constant_input(int i) const;
  bool is_used(int output) const;  ///< whether anything reads this output

  template <class T>
  const T& option(std::string_view name) const {
    const T* found = std::get_if<T>(&node().option(name));
    require(found, node(), ": option `", name, "` is of another type than the conversion expects");
    return *found;
  }
  bool flag(std::string_view name) const { return option<bool>(name); }
  std::int64_t whole(std::string_view name) const;  ///< Error: it follows the batch
  double number(std::string_view name) const;
  const std::string& words(std::string_view name) const { return option<std::string>(name); }
  const std::vector<Extent>& extents(std::string_view name) const {
    return option<std::vector<Extent>>(name);
  }
  std::vector<std::int64_t> wholes(std::string_view name) const;  ///< Error: one follows the batch

  /// Adds an op with one output, whose name it returns.
  std::string add(const std::string& op, std::vector<std::string> inputs,
                  Attributes attributes = {});
  /// The same for an op with `count` outputs.
  std::vector<std::string> add_several(const std::string& op, std::vector<std::string> inputs,
                                       Attributes attributes, int count);
  std::string constant(const Array& value, const std::string& name = "constant");
  std::string scalar(double value, DType dtype);
  std::string list(const std::vector<std::int64_t>& values);  ///< i64 [values]
  std::string sizes(const std::vector<Extent>& extents);      ///< i64 [extents], of this batch
  std::string numbers(const Extent& count);                   ///< 0, 1, ... count - 1: i64 [count]
  /// One more input of the whole, of the type of output 0.
  std::string new_input(const std::string& name);
  std::string transposed(const std::string& value, const std::vector<std::int64_t>& permutation);

  /// Output `i` of the node is this value.
  void give(const std::string& value, int i = 0) { bind({at_, i}, value, false); }
  void give_channels_first(const std::string& value);
  /// Whether inputs of an elementwise op are best taken with channels first; then they are `out`.
  bool elementwise_channels_first(std::vector<std::string>& out);

  /// The factors and terms [channels] that are applied to the node's output and nothing else reads,
  /// one after the other, behind reshapes too.
  struct Affine {
    std::vector<double> factor, term;
    bool has_factor = false, has_term = false;
    std::set<int> nodes = {};
  };
  Affine affine_behind(std::int64_t channels) const;
  /// Leaves them out of the graph, as what the node gives has them in it.
  void fold(const Affine& affine) { folded_.insert(affine.nodes.begin(), affine.nodes.end()); }
  std::string bias(const Affine& affine);  ///< its terms

  [[noreturn]] void unsupported(const std::string& why) const;

 private:
  struct Value {
    std::optional<std::string> plain, channels_first;
  };
  using Key = std::pair<int, int>;

  void convert_node();
  void bind(Operand operand, const std::string& value, bool channels_first);
  std::string plain(Operand operand);
  std::string first(Operand operand);
  std::string size_of_batch(const Extent& unit);
  std::string fresh(const std::string& name);
  std::string named(const std::string& word);
  std::string weight(int node);
  const Array* constant_of(Operand operand) const;
  int only_reader(int node) const;
  const Array* affine_operand(int node, int of, std::int64_t channels) const;
  int rank_of(Operand operand) const;

  const saved::Signature& signature_;
  std::map<int, Array> constants_;         // by node: what depends on weights alone
  std::vector<std::vector<int>> readers_;  // of output 0, by node; -1: a result
  std::vector<std::vector<bool>> used_;
  OnnxGraph graph_;
  int at_ = 0;  // node at hand
  std::map<Key, Value> values_;
  std::set<int> folded_;  // into a node before: what they read is what they make
  std::set<std::string> names_;
  std::map<std::pair<std::string, DType>, std::string> scalars_;
  std::string rows_, steps_;  // i64 [1] each, as far as anything asked
};

/// A conversion of one op; null when there is none.
using Conversion = void (*)(Converter&);
Conversion find_conversion(std::string_view op);

using Conversions = std::map<std::string_view, Conversion>;
/// The conversion of every op whose OpDef names an operator of ONNX.
void same_operator(Converter& c);
Conversions elementwise_conversions();
Conversions movement_conversions();
Conversions reduction_conversions();
Conversions image_conversions();
Conversions sequence_conversions();
Conversions recurrent_conversions();

/// The order of axes that brings channels in front of all others but the first, and back.
std::vector<std::int64_t> to_channels_first(int rank);
std::vector<std::int64_t> to_channels_last(int rank);

}  // namespace belfry::onnx
