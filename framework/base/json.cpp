#include "belfry/framework/base/json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/base/json_text.h"

namespace belfry {
namespace {

// Where `node` is in `in`, behind `path`; "" where it is not.
std::string path_to(const JsonNode* node, const JsonNode& in, const std::string& path) {
  for (std::size_t i = 0; i < in.children.size(); ++i) {
    const JsonNode& child = in.children[i];
    std::string here = in.kind == JsonNode::Kind::list
                           ? concat(path, "[", i, "]")
                           : concat(path, path.empty() ? "" : ".", in.keys[i]);
    if (&child == node) return here;
    if (std::string found = path_to(node, child, here); !found.empty()) return found;
  }
  return "";
}

}  // namespace

JsonValue JsonValue::parse(std::string_view text, std::string title, int deepest) {
  auto root = parse_json(text, title, deepest);
  return {root, root.get(), std::move(title)};
}

JsonValue JsonValue::titled(std::string title) const {
  return {node_, node_.get(), std::move(title)};
}

JsonValue JsonValue::without(std::string_view key) const {
  auto copy = std::make_shared<JsonNode>(*node_);
  copy->erase(key);
  return {copy, copy.get(), title_, path()};
}

std::string JsonValue::path() const {
  return node_.get() == root_ ? place_ : path_to(node_.get(), *root_, place_);
}

bool JsonValue::truth() const {
  if (!is_truth()) refuse("true or false");
  return node_->truth;
}

std::int64_t JsonValue::whole() const {
  if (is(JsonNode::Kind::whole)) return node_->whole;
  if (!is(JsonNode::Kind::natural)
      || node_->natural > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    refuse("a whole number");
  return static_cast<std::int64_t>(node_->natural);
}

std::uint64_t JsonValue::natural() const {
  if (!is(JsonNode::Kind::natural)) refuse("a whole number of at least 0");
  return node_->natural;
}

double JsonValue::number() const {
  if (!node_->is_number()) refuse("a number");
  return node_->number();
}

const std::string& JsonValue::words() const {
  if (!is_text()) refuse("a string");
  return node_->words;
}

JsonValue JsonValue::child(std::size_t i) const {
  return {{node_, &node_->children[i]}, root_, title_, place_};
}

std::vector<JsonValue> JsonValue::elements() const {
  if (!is_list()) refuse("a list");
  std::vector<JsonValue> out;
  for (std::size_t i = 0; i < node_->children.size(); ++i) out.push_back(child(i));
  return out;
}

const std::vector<std::string>& JsonValue::keys() const {
  if (!is_object()) refuse("an object");
  return node_->keys;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  std::vector<std::pair<std::string, JsonValue>> out;
  for (const std::string& key : keys()) out.emplace_back(key, child(out.size()));
  return out;
}

std::optional<JsonValue> JsonValue::member(std::string_view key) const {
  const JsonNode* found = node_->find(key);
  if (!found) return {};
  return child(static_cast<std::size_t>(found - node_->children.data()));
}

JsonValue JsonValue::required(std::string_view key) const {
  if (!is_object()) refuse("an object");
  std::optional<JsonValue> found = member(key);
  if (!found) {
    std::string place = path();
    fail(title_, title_.empty() ? "`" : ": `", place, place.empty() ? "" : ".", key,
         "` is missing");
  }
  return *found;
}

std::optional<JsonValue> JsonValue::only_member(std::string_view key) const {
  return is_object() && node_->keys.size() == 1 ? member(key) : std::nullopt;
}

void JsonValue::refuse(std::string_view expected) const {
  std::string where = title_;
  if (std::string place = path(); !place.empty())
    where += concat(where.empty() ? "`" : ": `", place, "`");
  fail(where.empty() ? "expected " : where + " must be ", expected, ", got ", node_->shown());
}

JsonFields::JsonFields(JsonValue object) : object_(std::move(object)) {
  if (!object_.is_object()) object_.refuse("a JSON object");
}

std::optional<JsonValue> JsonFields::member(std::string_view name) {
  known_.emplace_back(name);
  return object_.member(name);
}

void JsonFields::finish() const {
  for (const std::string& key : object_.keys())
    require(std::find(known_.begin(), known_.end(), key) != known_.end(), object_.title(),
            object_.title().empty() ? "" : ": ", "there is no field `", object_.path(),
            object_.path().empty() ? "" : ".", key, "`; there are ", join(known_, ", "));
}

void JsonWriter::separate() {
  if (!std::exchange(first_, false)) json_ += ",";
}

void JsonWriter::key(std::string_view name) {
  separate();
  name_ = name;
  add_text(name);
  json_ += ":";
}

void JsonWriter::add_text(std::string_view value) {
  require(bad_text_ == BadText::replace || is_utf8(value), name_, " is not UTF-8");
  json_ += json_text(value);
}

void JsonWriter::add_number(double value) {
  require(std::isfinite(value), name_, " must be a finite number, got ", value);
  // "-0" would be read as a whole number, which has no sign.
  json_ += value == 0 && std::signbit(value) ? "-0.0" : text(value);
}

void JsonWriter::add_choice(std::span<const std::string_view> names, std::size_t index) {
  require(index < names.size(), name_, " has no value number ", index);
  add_text(names[index]);
}

}  // namespace belfry
