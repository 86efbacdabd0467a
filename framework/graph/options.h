#pragma once
// The options of a node, in a form that can be printed, compared, hashed and written to a file.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
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

namespace belfry {

/// One option's value.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, Array>;

std::string to_string(const Attribute& attribute);

struct NamedAttribute {
  std::string name;
  Attribute value;
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
  template <OptionStruct T>
  Options(const T& value)  // NOLINT(google-explicit-constructor): apply(op, inputs, {.k = 1})
      : value_(std::make_shared<T>(value)), type_(typeid(T)) {
    detail::AttributeWriter writer;
    T::fields(value, writer);
    attributes_ = writer.attributes();
  }
  Options(const Options&);
  Options(Options&&) noexcept;
  Options& operator=(const Options&);
  Options& operator=(Options&&) noexcept;
  ~Options();

  /// The struct; Error (ours) when it is of another type.
  template <OptionStruct T>
  const T& as() const {
    ensure(type_ == typeid(T), "options are of another type than the op expects");
    return *static_cast<const T*>(value_.get());
  }

  std::span<const NamedAttribute> attributes() const;
  bool operator==(const Options& other) const;
  std::uint64_t hash() const;

 private:
  std::shared_ptr<const void> value_;
  std::type_index type_ = typeid(void);
  std::shared_ptr<const std::vector<NamedAttribute>> attributes_;
};

std::string to_string(const Options& options);  ///< "beta=1, axis=-1"; empty when there are none

}  // namespace belfry
