#pragma once
// JSON with the place of each value, for files with hundred thousands of members, whose paths and
// titles JsonValue would copy.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/json_tree.h"

namespace belfry::data {

class JsonPlace;

/// A JSON text that has been read.
class JsonDocument {
 public:
  /// Error beginning with `title`: no JSON, with line and column; nested more than 32 deep; a key
  /// that an object has twice.
  JsonDocument(std::string_view text, std::string title);
  JsonPlace root() const;  ///< lives as long as this

 private:
  std::string title_;
  std::shared_ptr<const JsonNode> root_;
};

/// A value and its path for messages, such as "model.merges[3]".
class JsonPlace {
 public:
  bool is_null() const { return is(JsonNode::Kind::null); }
  bool is_object() const { return is(JsonNode::Kind::object); }
  bool is_list() const { return is(JsonNode::Kind::list); }
  bool is_number(double number) const;        ///< whether it is a number, and this one
  bool is_text(std::string_view text) const;  ///< whether it is a string, and this one

  /// A member; a missing one is null. Error: this is no object.
  JsonPlace operator[](std::string_view key) const;
  /// The members in the order of their keys. Error: no object.
  std::vector<std::pair<std::string_view, JsonPlace>> members() const;
  std::vector<JsonPlace> elements() const;  ///< Error: no list
  /// Error: a member of this object has none of these names.
  void allow(std::initializer_list<std::string_view> keys) const;

  const std::string& text() const;               ///< Error: no string
  bool flag(bool missing) const;                 ///< Error: neither a bool nor missing nor null
  std::int32_t below(std::int64_t limit) const;  ///< Error: no whole number from 0 on, below that

  /// Error: "<title>: `<path>` must be <expected>, got <this>". This is cut where it is long.
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  friend class JsonDocument;
  JsonPlace(const JsonNode* node, const std::string& title, std::string path)
      : node_(node), title_(&title), path_(std::move(path)) {}

  bool is(JsonNode::Kind kind) const { return node_->kind == kind; }
  std::string path() const;

  // The path of an element or a member of many is put together for messages only.
  const JsonNode* node_;
  const std::string* title_;
  std::string path_;
  const std::string* key_ = nullptr;
  std::int64_t index_ = -1;
};

}  // namespace belfry::data
