#pragma once
// JSON as a tree, read with nlohmann's parser. The tree of that library takes memory where a value
// is destroyed, and ends the process where there is none; this one takes none.

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// A value of JSON, with what is in it.
class JsonNode {
 public:
  enum class Kind : std::uint8_t {
    null,
    truth,
    whole,    ///< a number without point and exponent, below 0
    natural,  ///< the same, from 0 on
    fraction,
    words,
    list,
    object
  };

  JsonNode() = default;  ///< null
  template <class T>
  requires std::is_arithmetic_v<T> JsonNode(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::truth;
      truth = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = Kind::fraction;
      fraction = static_cast<double>(value);
    } else if (std::cmp_less(value, 0)) {
      kind = Kind::whole;
      whole = value;
    } else {
      kind = Kind::natural;
      natural = static_cast<std::uint64_t>(value);
    }
  }
  template <class T>
  requires std::convertible_to<const T&, std::string_view> JsonNode(const T& value)
      : kind(Kind::words), words(std::string_view(value)) {}
  static JsonNode list(std::vector<JsonNode> elements = {});
  static JsonNode object(std::vector<std::pair<std::string, JsonNode>> members = {});

  void push(JsonNode element) { children.push_back(std::move(element)); }  ///< to a list
  void add(std::string key, JsonNode value);  ///< to an object that has no such key
  void erase(std::string_view key);           ///< from an object; nothing where it is not there
  /// The value in an object that has this key; null where there is none.
  const JsonNode* find(std::string_view key) const;

  bool is_number() const {
    return kind == Kind::whole || kind == Kind::natural || kind == Kind::fraction;
  }
  double number() const;  ///< of a number

  /// On one line. A fraction that is not finite is null, as in JavaScript.
  std::string text() const;
  std::string indented_text() const;  ///< each element and member on a line, by one space a level
  std::string shown() const;          ///< for messages: cut where it is long

  Kind kind = Kind::null;
  union {  // the one that `kind` names
    bool truth;
    std::int64_t whole;
    std::uint64_t natural = 0;
    double fraction;
  };
  std::string words;
  std::vector<JsonNode> children;     ///< elements of a list, values of an object
  std::vector<std::string> keys;      ///< of an object, beside its values, in their order
  std::vector<std::uint32_t> by_key;  ///< their places, in the order of the alphabet
};

/// Error beginning with `title`, which may be empty: no JSON, with line and column; nested deeper
/// than `deepest`; a key that an object has twice.
std::shared_ptr<const JsonNode> parse_json(std::string_view text, std::string_view title,
                                           int deepest);

}  // namespace belfry
