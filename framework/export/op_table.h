#pragma once
// The ops that a saved graph may name, and how their options are read.

#include <concepts>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/graph/op_def.h"

namespace belfry::saved {

/// Fills an options struct from a node's options, for a batch of so many rows:
///
///   T::fields(value, reader); reader.finish();
///
/// Error: an option is missing, left over, of another type or out of the range of its field.
class OptionReader {
 public:
  OptionReader(std::span<const Option> options, std::int64_t rows)
      : options_(options), rows_(rows) {}

  template <class Field>
  void operator()(std::string_view name, Field& field) {
    const Value& value = find(name);
    with_context(concat("option ", name), [&] { read(value, field); });
  }
  void finish() const;

 private:
  const Value& find(std::string_view name);
  std::int64_t whole(const Value& value) const;
  double number(const Value& value) const;
  const std::string& words(const Value& value) const;
  std::vector<std::int64_t> wholes(const Value& value) const;
  std::vector<double> numbers(const Value& value) const;

  template <class Field>
  void read(const Value& value, Field& field) const {
    if constexpr (std::same_as<Field, bool>) {
      field = truth(value);
    } else if constexpr (std::integral<Field>) {
      field = narrow<Field>(whole(value));
    } else if constexpr (std::floating_point<Field>) {
      field = static_cast<Field>(number(value));
    } else if constexpr (std::same_as<Field, std::string>) {
      field = words(value);
    } else if constexpr (std::same_as<Field, Shape>) {
      field = Shape(wholes(value));
    } else if constexpr (std::ranges::range<Field>) {
      read_list(value, field);
    } else {
      read_text(words(value), field);
    }
  }
  template <class List>
  void read_list(const Value& value, List& list) const {
    using Element = std::ranges::range_value_t<List>;
    auto fill = [&](const auto& values, auto convert) {
      if constexpr (requires { list.resize(0); }) {
        list.resize(values.size());
      } else {
        require(values.size() == list.size(), "expected ", list.size(), " numbers, got ",
                values.size());
      }
      for (std::size_t i = 0; i < values.size(); ++i) list[i] = convert(values[i]);
    };
    if constexpr (std::floating_point<Element>) {
      fill(numbers(value), [](double x) { return static_cast<Element>(x); });
    } else {
      fill(wholes(value), [](std::int64_t x) { return narrow<Element>(x); });
    }
  }
  // Streams of random numbers are unsigned numbers of 64 bits, which options keep as signed ones.
  template <class T>
  static T narrow(std::int64_t value) {
    if constexpr (sizeof(T) < sizeof value)
      require(value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max(),
              value, " is out of range");
    return static_cast<T>(value);
  }
  bool truth(const Value& value) const;
  void read_text(const std::string& text, DType& field) const { field = dtype_from_string(text); }
  void read_text(const std::string& text, TensorType& field) const;
  // Enumerations and small structs of the ops.
  template <class T>
  void read_text(const std::string& text, T& field) const {
    from_text(text, field);
  }

  std::span<const Option> options_;
  std::int64_t rows_;
  std::vector<std::string_view> read_;
};

/// An op of saved graphs.
struct KnownOp {
  const OpDef* op = nullptr;
  std::size_t fewest_inputs = 0, most_inputs = 0;
  Options (*options)(std::span<const Option> options, std::int64_t rows) = nullptr;
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
Options read_options(std::span<const Option> options, std::int64_t rows) {
  T value;
  OptionReader reader(options, rows);
  T::fields(value, reader);
  reader.finish();
  return value;
}
Options no_options(std::span<const Option> options, std::int64_t rows);

}  // namespace belfry::saved
