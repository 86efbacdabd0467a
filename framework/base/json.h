#pragma once
// Structs of options as JSON, in and out, by the names that they give their fields (fields.h).

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/json_tree.h"

namespace belfry {

/// A value in a JSON text, and its place for messages: "mlp: `hidden[2]` must be a whole number,
/// got true". Cheap to copy; the text lives as long as one of its values. What read_value() reads
/// from.
class JsonValue {
 public:
  /// Error beginning with `title`: no JSON, with line and column; nested deeper than `deepest`; a
  /// key that an object has twice.
  static JsonValue parse(std::string_view text, std::string title, int deepest = 64);
  /// The same value under another title, its place counted from here.
  JsonValue titled(std::string title) const;
  JsonValue without(std::string_view key) const;  ///< the object without this member

  const std::string& title() const { return title_; }
  std::string path() const;  ///< "keep_checkpoints.newest", "of[1]"; for messages, as it is slow

  bool is_null() const { return is(JsonNode::Kind::null); }
  bool is_truth() const { return is(JsonNode::Kind::truth); }
  bool is_list() const { return is(JsonNode::Kind::list); }
  bool is_object() const { return is(JsonNode::Kind::object); }
  bool is_text() const { return is(JsonNode::Kind::words); }
  bool is_fraction() const {  ///< a number with a point or an exponent
    return is(JsonNode::Kind::fraction);
  }

  bool truth() const;
  std::int64_t whole() const;
  std::uint64_t natural() const;
  double number() const;
  const std::string& words() const;
  std::vector<JsonValue> elements() const;

  const std::vector<std::string>& keys() const;                 ///< Error: no object
  std::optional<JsonValue> member(std::string_view key) const;  ///< none where it is no object
  JsonValue required(std::string_view key) const;  ///< a member; Error: no object; it is missing
  /// In the order of the text. Error: no object.
  std::vector<std::pair<std::string, JsonValue>> members() const;
  /// The member of an object that has this one alone.
  std::optional<JsonValue> only_member(std::string_view key) const;

  /// Fills the fields that an object names and leaves the others. Error: no object; a key that is
  /// no field.
  template <OptionStruct T>
  void fields(T& options) const;

  std::string json() const { return node_->text(); }  ///< on one line

  /// Error: "<title>: `<path>` must be <expected>, got <this>". This is cut where it is long.
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  JsonValue(std::shared_ptr<const JsonNode> node, const JsonNode* root, std::string title,
            std::string place = {})
      : node_(std::move(node)), root_(root), title_(std::move(title)), place_(std::move(place)) {}
  bool is(JsonNode::Kind kind) const { return node_->kind == kind; }
  JsonValue child(std::size_t i) const;

  std::shared_ptr<const JsonNode> node_;  // keeps the whole text
  const JsonNode* root_;                  // in it, where paths begin, behind place_
  std::string title_, place_;
};

/// Takes the fields of a struct from the members of an object.
class JsonFields {
 public:
  /// Error: no object.
  explicit JsonFields(JsonValue object);

  template <class T>
  void operator()(std::string_view name, T& value, Limits limits = {}) {
    if (std::optional<JsonValue> json = member(name)) read_value(*json, value, limits);
  }
  bool has(std::string_view name) const { return object_.member(name).has_value(); }
  /// The member of this name, if there is one; it counts as known.
  std::optional<JsonValue> member(std::string_view name);
  /// Error listing the known names: there is another.
  void finish() const;

 private:
  JsonValue object_;
  std::vector<std::string> known_;
};

template <OptionStruct T>
void JsonValue::fields(T& options) const {
  JsonFields fields(*this);
  T::fields(options, fields);
  fields.finish();
}

/// Writes a struct as JSON, on one line. A type with a form of its own has a function
/// write_field(JsonWriter&, value) beside it; texts, numbers, quantities and named enumerations
/// have the plain form.
class JsonWriter {
 public:
  enum class BadText { replace, refuse };
  /// A text that is not UTF-8 has its bad bytes replaced by U+FFFD, or is an Error.
  explicit JsonWriter(BadText bad_text) : bad_text_(bad_text) {}

  /// One member of an object.
  template <class T>
  void operator()(std::string_view name, const T& value, Limits = {}) {
    key(name);
    write(value);
  }

  /// Error naming the field: a number that is not finite, an enumeration without such a value.
  template <class T>
  void write(const T& value) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
      add_text(value);
    } else if constexpr (std::floating_point<T>) {
      add_number(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      add(text(value));
    } else if constexpr (Quantity<T>) {
      add(text(count_of(value)));
    } else if constexpr (NamedEnum<T>) {
      add_choice(enum_names<T>, static_cast<std::size_t>(value));
    } else if constexpr (requires {
                           write_field(*this, value);
                         }) {  // behind what converts to others
      write_field(*this, value);
    } else if constexpr (OptionStruct<T>) {
      object([&] { T::fields(value, *this); });
    } else {
      list(value);
    }
  }
  /// {...}, with the members that `body` writes.
  template <class Body>
  void object(Body&& body) {
    add("{");
    first_ = true;
    body();
    json_ += "}";
    first_ = false;
  }
  template <class List>
  void list(const List& values) {
    add("[");
    first_ = true;
    for (const auto& value : values) {
      separate();
      write(value);
    }
    json_ += "]";
    first_ = false;
  }
  void add(std::string_view json) { json_ += json; }  ///< as it is

  const std::string& json() const { return json_; }
  const std::string& name() const { return name_; }  ///< of the field that is written

 private:
  void separate();
  void key(std::string_view name);
  void add_text(std::string_view value);
  void add_number(double value);
  void add_choice(std::span<const std::string_view> names, std::size_t index);

  BadText bad_text_;
  bool first_ = true;
  std::string json_, name_;
};

template <OptionStruct T>
std::string json_of(const T& options, JsonWriter::BadText bad_text) {
  JsonWriter writer(bad_text);
  writer.write(options);
  return writer.json();
}

}  // namespace belfry
