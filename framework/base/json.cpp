#include "belfry/framework/base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "belfry/framework/base/json_text.h"

namespace belfry {
namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 64;
constexpr std::size_t most_members = 10'000;  // of an object, which are looked for one by one

const Json& of(const void* json) { return *static_cast<const Json*>(json); }

// A value for messages, cut where it is long.
std::string shown(const Json& json) {
  std::string out = json.dump(-1, ' ', true);
  constexpr std::size_t most = 60;
  return out.size() <= most ? out : out.substr(0, most) + "...";
}

// "line 2, column 5" of a byte, counted from 1. The library's own column is 0 at times.
std::string line_and_column_of(std::string_view text, std::size_t byte) {
  std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  std::size_t line_start = before.rfind('\n') + 1;  // 0 where there is none
  return concat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                before.size() - line_start + 1);
}

// Refuses what the parser would let pass: a key twice, and nesting that recursion could not follow.
class Guard {
 public:
  explicit Guard(const std::string& title) : title_(title) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      require(depth < deepest, title_, ": nested more than ", deepest, " deep");
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys_.back().insert(key).second, title_, ": ", shown(parsed), " is given twice");
      require(keys_.back().size() <= most_members, title_, ": an object has more than ",
              most_members, " members");
    }
    return true;
  }

 private:
  const std::string& title_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

JsonValue::JsonValue(std::shared_ptr<const void> document, const void* json, std::string title,
                     std::string path)
    : document_(std::move(document)),
      json_(json),
      title_(std::move(title)),
      path_(std::move(path)) {}

JsonValue JsonValue::parse(std::string_view text, std::string title) {
  try {
    auto json = std::make_shared<const Json>(Json::parse(text, Guard(title)));
    return {json, json.get(), std::move(title), {}};
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string_view why = error.what();
    if (auto where = why.find(": "); where != why.npos) why.remove_prefix(where + 2);
    fail(title, ": not JSON: ", line_and_column_of(text, error.byte), ": ", why);
  } catch (const Json::exception& error) {  // a number beyond the range of f64
    fail(title, ": not JSON: ", error.what());
  }
}

JsonValue JsonValue::titled(std::string title) const {
  return {document_, json_, std::move(title), {}};
}

JsonValue JsonValue::without(std::string_view key) const {
  auto copy = std::make_shared<Json>(of(json_));
  copy->erase(std::string(key));
  return {copy, copy.get(), title_, path_};
}

bool JsonValue::is_null() const { return of(json_).is_null(); }
bool JsonValue::is_list() const { return of(json_).is_array(); }
bool JsonValue::is_object() const { return of(json_).is_object(); }
bool JsonValue::is_text() const { return of(json_).is_string(); }
bool JsonValue::is_fraction() const { return of(json_).is_number_float(); }

bool JsonValue::truth() const {
  if (!of(json_).is_boolean()) refuse("true or false");
  return of(json_).get<bool>();
}

std::int64_t JsonValue::whole() const {
  const Json& json = of(json_);
  bool fits = json.is_number_integer()
              && (!json.is_number_unsigned()
                  || json.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
  if (!fits) refuse("a whole number");
  return json.get<std::int64_t>();
}

std::uint64_t JsonValue::natural() const {
  if (!of(json_).is_number_unsigned()) refuse("a whole number of at least 0");
  return of(json_).get<std::uint64_t>();
}

double JsonValue::number() const {
  if (!of(json_).is_number()) refuse("a number");
  return of(json_).get<double>();
}

const std::string& JsonValue::words() const {
  if (!of(json_).is_string()) refuse("a string");
  return of(json_).get_ref<const std::string&>();
}

std::vector<JsonValue> JsonValue::elements() const {
  if (!is_list()) refuse("a list");
  std::vector<JsonValue> out;
  for (const Json& element : of(json_))
    out.push_back({document_, &element, title_, concat(path_, "[", out.size(), "]")});
  return out;
}

std::vector<std::string> JsonValue::keys() const {
  if (!is_object()) refuse("an object");
  std::vector<std::string> out;
  for (const auto& [key, value] : of(json_).items()) out.push_back(key);
  return out;
}

std::optional<JsonValue> JsonValue::member(std::string_view key) const {
  if (!is_object()) return {};
  auto found = of(json_).find(key);
  if (found == of(json_).end()) return {};
  return JsonValue(document_, &*found, title_, concat(path_, path_.empty() ? "" : ".", key));
}

std::optional<JsonValue> JsonValue::only_member(std::string_view key) const {
  return is_object() && of(json_).size() == 1 ? member(key) : std::nullopt;
}

void JsonValue::refuse(std::string_view expected) const {
  std::string where = title_;
  if (!path_.empty()) where += concat(where.empty() ? "`" : ": `", path_, "`");
  fail(where.empty() ? "expected " : where + " must be ", expected, ", got ", shown(of(json_)));
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
