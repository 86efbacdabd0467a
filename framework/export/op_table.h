#pragma once
// The ops that a saved graph may name, and how their options are read.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/nn.h"

namespace belfry::saved {

/// The value of an option, for a batch of this size: what read_value() reads from. A list's
/// whole numbers are at most 2^40 in magnitude.
class OptionValue {
 public:
  OptionValue(const Value& value, const BatchSize& batch) : value_(value), batch_(batch) {}

  bool truth() const;
  std::int64_t whole() const;
  /// Streams of random numbers are unsigned numbers of 64 bits, which options keep as signed ones.
  std::uint64_t natural() const { return whole(); }
  double number() const;
  const std::string& words() const;
  std::vector<OptionValue> elements() const;
  const BatchSize& batch() const { return batch_; }
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  Value value_;
  BatchSize batch_;
};

// Beside OptionValue, so that read_value() finds them wherever options are read.
void read_field(const OptionValue& from, Shape& shape);
void read_field(const OptionValue& from, TensorType& type);
void read_field(const OptionValue& from, Activation& activation);  ///< none, or an Error
void read_field(const OptionValue& from, Size2& size);
void read_field(const OptionValue& from, Padding& padding);

/// Fills an options struct from a node's options, for a batch of this size:
///
///   T::fields(value, reader); reader.finish();
///
/// Error: an option is missing, left over, of another type or out of the range of its field.
class OptionReader {
 public:
  OptionReader(std::span<const Option> options, const BatchSize& batch)
      : options_(options), batch_(batch) {}

  template <class T>
  OptionReader& operator()(std::string_view name, T& field, Limits limits = {}) {
    OptionValue value = find(name);
    with_context(concat("option ", name), [&] { read_value(value, field, limits); });
    return *this;
  }
  void finish() const;

 private:
  OptionValue find(std::string_view name);

  std::span<const Option> options_;
  BatchSize batch_;
  std::vector<std::string_view> read_;
};

/// An op of saved graphs.
struct KnownOp {
  const OpDef* op = nullptr;
  std::size_t fewest_inputs = 0, most_inputs = 0;
  Options (*options)(std::span<const Option> options, const BatchSize& batch) = nullptr;
  /// Throws for what the shape rule takes for granted, as functions that make nodes have checked
  /// it; null: there is nothing.
  void (*check)(const ShapeContext&) = nullptr;
};

/// Error listing nothing but the name: there is no such op, or it cannot be saved.
const KnownOp& known_op(std::string_view name);

/// Makes an op of a program's own known, once, before exports with it are loaded. Its shape rule
/// must stand any input types. Thread rules: none is loading. Error: the name is taken.
void add_known_op(const KnownOp& op);

template <OptionStruct T>
Options read_options(std::span<const Option> options, const BatchSize& batch) {
  T value;
  OptionReader reader(options, batch);
  T::fields(value, reader);
  reader.finish();
  return value;
}
Options no_options(std::span<const Option> options, const BatchSize& batch);

}  // namespace belfry::saved
