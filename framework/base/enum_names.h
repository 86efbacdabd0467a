#pragma once
// Enumerations that name their values, each once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

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

}  // namespace belfry
