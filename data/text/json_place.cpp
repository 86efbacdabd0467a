#include "belfry/data/text/json_place.h"

#include <algorithm>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json_text.h"

namespace belfry::data {
namespace {

constexpr int deepest = 32;

std::string shown(const JsonNode& value) {
  bool list = value.kind == JsonNode::Kind::list, object = value.kind == JsonNode::Kind::object;
  if (!list && !object) return value.shown();
  return concat(list ? "a list of " : "an object of ", value.children.size());
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string title)
    : title_(std::move(title)), root_(parse_json(text, title_, deepest)) {}

JsonPlace JsonDocument::root() const { return {root_.get(), title_, {}}; }

std::string JsonPlace::path() const {
  if (key_) return concat(path_, "[", json_text(*key_), "]");
  return index_ < 0 ? path_ : concat(path_, "[", index_, "]");
}

bool JsonPlace::is_number(double number) const {
  return node_->is_number() && node_->number() == number;
}

bool JsonPlace::is_text(std::string_view text) const {
  return is(JsonNode::Kind::words) && node_->words == text;
}

JsonPlace JsonPlace::operator[](std::string_view key) const {
  static const JsonNode missing{};
  if (!is_object()) refuse("an object");
  const JsonNode* found = node_->find(key);
  return {found ? found : &missing, *title_, concat(path(), path().empty() ? "" : ".", key)};
}

std::vector<std::pair<std::string_view, JsonPlace>> JsonPlace::members() const {
  if (!is_object()) refuse("an object");
  std::vector<std::pair<std::string_view, JsonPlace>> out;
  out.reserve(node_->keys.size());
  for (std::uint32_t at : node_->by_key) {
    const std::string& key = node_->keys[at];
    out.emplace_back(key, JsonPlace(&node_->children[at], *title_, path())).second.key_ = &key;
  }
  return out;
}

std::vector<JsonPlace> JsonPlace::elements() const {
  if (!is_list()) refuse("a list");
  std::vector<JsonPlace> out;
  out.reserve(node_->children.size());
  for (const JsonNode& element : node_->children) {
    const std::int64_t index = std::ssize(out);
    out.push_back({&element, *title_, path()});
    out.back().index_ = index;
  }
  return out;
}

void JsonPlace::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : members())
    require(std::find(keys.begin(), keys.end(), key) != keys.end(), *title_, ": `", path(),
            path().empty() ? "" : ".", key, "` is not supported; known are ", join(keys, ", "));
}

const std::string& JsonPlace::text() const {
  if (!is(JsonNode::Kind::words)) refuse("a string");
  return node_->words;
}

bool JsonPlace::flag(bool missing) const {
  if (is_null()) return missing;
  if (!is(JsonNode::Kind::truth)) refuse("true or false");
  return node_->truth;
}

std::int32_t JsonPlace::below(std::int64_t limit) const {
  if (!is(JsonNode::Kind::natural) || node_->number() >= static_cast<double>(limit))
    refuse(concat("a whole number from 0 to ", limit - 1));
  return static_cast<std::int32_t>(node_->natural);
}

void JsonPlace::refuse(std::string_view expected) const {
  fail(*title_, ": ", path().empty() ? "it" : concat("`", path(), "`"), " must be ", expected,
       ", got ", shown(*node_));
}

}  // namespace belfry::data
