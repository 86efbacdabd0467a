#pragma once
// Small text helpers for messages: text(x) turns a value into the words an error shows.

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// The value as it stands; a bool as "true" or "false".
///@{
inline std::string text(std::string_view s) { return std::string(s); }
inline std::string text(const char* s) { return s; }
inline std::string text(const std::string& s) { return s; }
inline std::string text(bool b) { return b ? "true" : "false"; }
inline std::string text(char c) { return std::string(1, c); }
///@}
std::string text(double value);  ///< shortest decimal that reads back as the same double
std::string text(float value);   ///< shortest decimal that reads back as the same float

/// In decimal.
template <class T>
requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) std::string
    text(T value) {
  return std::to_string(value);
}

/// Any type with a `to_string(x)` found beside it.
template <class T>
requires(!std::is_arithmetic_v<T> && requires(const T& x) {
  std::string(to_string(x));
}) std::string text(const T& value) {
  return std::string(to_string(value));
}

namespace detail {

// Not inline: messages are put together in a thousand places, and each stays a few calls long.
void append(std::string& out, std::string_view s);
void append(std::string& out, long long value);
void append(std::string& out, unsigned long long value);

// A value that converts to std::string_view is appended as it is, since it needs no copy; text()
// turns every other kind into words first.
template <class T>
void append_text(std::string& out, const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    append(out, std::string_view(value));
  else if constexpr (std::signed_integral<T> && !std::same_as<T, char>)
    append(out, static_cast<long long>(value));
  else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>)
    append(out, static_cast<unsigned long long>(value));
  else
    append(out, text(value));
}

}  // namespace detail

/// The arguments as one string: concat("got ", 3, " rows") is "got 3 rows".
template <class... Args>
std::string concat(const Args&... args) {
  std::string out;
  (detail::append_text(out, args), ...);
  return out;
}

/// Elements joined by `separator`: join({"a", "b"}, ", ") is "a, b".
template <class Range>
std::string join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!std::exchange(first, false)) detail::append(out, separator);
    detail::append_text(out, element);
  }
  return out;
}

/// Whether the bytes are well-formed UTF-8 (RFC 3629).
bool is_utf8(std::string_view s);

/// A byte count for people: 1536 is "1.5 KiB". Powers of 1024.
std::string bytes_text(std::int64_t bytes);

/// At most `count` of `names`, the nearest to `name` first. The distance is the number of
/// characters to insert, delete or replace (Levenshtein 1966); a name whose distance is above half
/// of the longer name's length is left out.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t count = 3);

}  // namespace belfry
