#pragma once
// Structs that name their fields, and enumerations that name their values, each once. Printing,
// comparing, hashing, checking, and JSON (json.h) follow from these names.

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/units.h"

namespace belfry {

namespace detail {

/// Whether an enumeration has an enumerator of this value: compilers print one as
/// "[... value = Fruit::apple]", and another value as "[... value = (Fruit)2]".
template <auto value>
constexpr bool is_enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;
  char first = text[text.find_last_of(":)") + 1];
  return first < '0' || first > '9';
}

std::string_view name_at(std::span<const std::string_view> names, std::size_t index);
[[noreturn, gnu::cold]] void fail_no_such_value(std::int64_t value);

}  // namespace detail

/// An enumeration names its values once, in order from 0, in a function beside it:
///
///   enum class Fruit { apple, sour_cherry };
///   constexpr auto names_of(Fruit) { return name_list("apple", "sour_cherry"); }
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  std::span<const std::string_view>(names_of(e));
};

/// The result of a names_of(): the names in their order.
template <class... Names>
constexpr std::array<std::string_view, sizeof...(Names)> name_list(const Names&... all) {
  return {all...};
}

/// All names of an enumeration, in order. Does not compile unless there is one for each value.
template <NamedEnum E>
inline constexpr auto enum_names = [] {
  constexpr auto all = names_of(E{});
#ifndef __CUDACC__  // nvcc prints otherwise
  static_assert(detail::is_enumerator<static_cast<E>(all.size() - 1)>()
                    && !detail::is_enumerator<static_cast<E>(all.size())>(),
                "names_of() does not name each value");
#endif
  return all;
}();

/// The name. Error (ours): it is no value of the enumeration. Namespaces inside belfry say
/// `using belfry::to_string`.
template <NamedEnum E>
std::string to_string(E value) {
  return std::string(detail::name_at(enum_names<E>, static_cast<std::size_t>(value)));
}

/// For the end of a switch that has a case for each value: `value` is none. Error (ours).
template <class E>
requires std::is_enum_v<E>
[[noreturn]] void no_such_value(E value) {
  detail::fail_no_such_value(static_cast<std::int64_t>(value));
}

/// The value of this name; nothing changes and false if it has none.
template <NamedEnum E>
bool from_name(std::string_view name, E& value) {
  for (std::size_t i = 0; i < enum_names<E>.size(); ++i) {
    if (enum_names<E>[i] != name) continue;
    value = static_cast<E>(i);
    return true;
  }
  return false;
}

/// The range of a field that is a whole number, both ends included.
struct Limits {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();   ///< by default no limit
  std::int64_t high = std::numeric_limits<std::int64_t>::max();  ///< likewise
};
constexpr Limits at_least(std::int64_t low) { return {.low = low}; }  ///< no upper limit
std::string to_string(const Limits& limits);                          ///< "at least 1", "in 0..5"

namespace detail {

/// Takes any field: a named type, as nvcc knows no lambda in a concept.
struct AnyField {
  template <class T>
  void operator()(std::string_view, const T&, Limits = {}) const {}
};

std::string_view pop_name(std::string_view& names);

template <class Members, class Visitor>
void visit_fields(std::string_view names, const Members& members, Visitor&& field) {
  std::apply([&](auto&... member) { (field(pop_name(names), member), ...); }, members);
}

}  // namespace detail

/// A struct of options names its fields once, in a static member template:
///
///   struct SoftplusOptions {
///     float beta = 1;  ///< steepness
///     static void fields(auto& o, auto&& field) { field("beta", o.beta); }
///   };
///
/// A field that is a whole number may have Limits behind it, and the fields of a struct inside may
/// be listed as the struct's own. BELFRY_FIELDS(beta), behind the last field, is the same where
/// there is neither. Members that JSON and other texts do not set, such as functions, may be left
/// out.
template <class T>
concept OptionStruct = requires(const T& o) {
  T::fields(o, detail::AnyField());
};

// Templates cost no time where nobody asks for the fields.
#define BELFRY_FIELDS(...)                                               \
  template <class = void>                                                \
  auto tie_fields() {                                                    \
    return std::tie(__VA_ARGS__);                                        \
  }                                                                      \
  template <class = void>                                                \
  auto tie_fields() const {                                              \
    return std::tie(__VA_ARGS__);                                        \
  }                                                                      \
  static void fields(auto& o, auto&& field) {                            \
    ::belfry::detail::visit_fields(#__VA_ARGS__, o.tie_fields(), field); \
  }

/// Types that are a whole number with a unit.
template <class T>
concept Quantity =
    std::same_as<T, Steps> || std::same_as<T, Bytes> || std::same_as<T, std::chrono::seconds>;
/// The number of units.
///@{
inline std::int64_t count_of(Steps steps) { return steps.count; }
inline std::int64_t count_of(Bytes bytes) { return bytes.count; }
inline std::int64_t count_of(std::chrono::seconds seconds) { return seconds.count(); }
///@}

namespace detail {

/// Fails for numbers outside their limits.
struct LimitsChecker {
  std::string prefix;

  template <class T>
  void operator()(std::string_view name, const T& value, Limits limits = {}) const {
    if constexpr (OptionStruct<T>) {
      T::fields(value, LimitsChecker{concat(prefix, name, ".")});
    } else if constexpr (Quantity<T>) {
      check(name, count_of(value), limits);
    } else if constexpr (std::signed_integral<T>) {
      check(name, value, limits);
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      if (std::in_range<std::int64_t>(value)) check(name, static_cast<std::int64_t>(value), limits);
    }
  }
  void check(std::string_view name, std::int64_t value, Limits limits) const;
};

}  // namespace detail

/// Error unless each field of `options` is within its Limits: "<prefix>threads must be at least 0,
/// got -1". Fields of a struct inside are named a.b.
template <OptionStruct T>
void check_limits(const T& options, std::string prefix) {
  T::fields(options, detail::LimitsChecker{std::move(prefix)});
}

/// Reads `value` from something that holds one of a few plain kinds: JSON, or an option in a file.
/// From has truth(), whole(), natural(), number(), words() and elements(), which are Errors where
/// it holds something else, fields(struct), where it may hold one, and refuse(expected), which
/// throws. A type with a form of its own has a
/// function read_field(from, value) beside From or itself.
template <class From, class T>
void read_value(const From& from, T& value, Limits limits = {}) {
  if constexpr (requires { read_field(from, value); }) {
    read_field(from, value);
  } else if constexpr (std::same_as<T, bool>) {
    value = from.truth();
  } else if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
    std::uint64_t number = from.natural();
    bool beyond = limits.high != Limits().high && std::cmp_greater(number, limits.high);
    if (beyond || std::cmp_less(number, limits.low)) from.refuse(to_string(limits));
    value = number;
  } else if constexpr (std::integral<T>) {
    constexpr std::int64_t lowest = std::numeric_limits<T>::min();
    constexpr std::int64_t highest = std::numeric_limits<T>::max();
    if (limits.low < lowest) limits.low = lowest;
    if (limits.high > highest) limits.high = highest;
    std::int64_t number = from.whole();
    if (number < limits.low || number > limits.high) from.refuse(to_string(limits));
    value = static_cast<T>(number);
  } else if constexpr (Quantity<T>) {
    std::int64_t count = 0;
    read_value(from, count, limits);
    value = T(count);
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(from.number());
  } else if constexpr (std::same_as<T, std::string>) {
    value = from.words();
  } else if constexpr (NamedEnum<T>) {
    if (!from_name(from.words(), value)) from.refuse(concat("one of ", join(enum_names<T>, ", ")));
  } else if constexpr (requires { std::begin(value); }) {
    auto elements = from.elements();
    if constexpr (requires { value.resize(0); }) {
      value.clear();
      value.resize(elements.size());
    } else if (elements.size() != value.size()) {
      from.refuse(concat("a list of ", value.size(), " values"));
    }
    for (std::size_t i = 0; i < elements.size(); ++i) read_value(elements[i], value[i]);
  } else {
    static_assert(OptionStruct<T>, "a field of a type that is neither plain nor has read_field()");
    from.fields(value);
  }
}

}  // namespace belfry
