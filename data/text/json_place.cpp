#include "belfry/data/text/json_place.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 32;

const Json& of(const void* json) { return *static_cast<const Json*>(json); }

std::string shown(const Json& json) {
  if (json.is_structured())
    return concat(json.is_array() ? "a list of " : "an object of ", json.size());
  std::string out = json.dump(-1, ' ', true);
  constexpr std::size_t most = 60;
  return out.size() <= most ? out : out.substr(0, most) + "...";
}

// Refuses what the parser would let pass. With names a key that is there twice is found at once,
// which takes half as long as all else.
class Guard {
 public:
  Guard(const std::string& title, bool names) : title_(title), names_(names) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      require(depth < deepest, title_, ": nested more than ", deepest, " deep");
      objects_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      twice_ = twice_ || (event == Event::object_end && parsed.size() != objects_.back().count);
      objects_.pop_back();
    } else if (event == Event::key) {
      ++objects_.back().count;
      require(!names_ || objects_.back().keys.insert(parsed.get<std::string>()).second, title_,
              ": the key ", shown(parsed), " is given twice in an object");
    }
    return true;
  }
  bool twice() const { return twice_; }

 private:
  struct Object {
    std::size_t count = 0;
    std::unordered_set<std::string> keys;
  };

  const std::string& title_;
  bool names_, twice_ = false;
  std::vector<Object> objects_;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string title) : title_(std::move(title)) {
  try {
    Guard counting(title_, false), naming(title_, true);
    json_ = std::make_shared<const Json>(Json::parse(text, std::ref(counting)));
    if (counting.twice()) json_ = std::make_shared<const Json>(Json::parse(text, std::ref(naming)));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string_view why = error.what();
    if (auto end = why.find("] "); end != why.npos) why.remove_prefix(end + 2);
    fail(title_, ": not JSON: ", why);
  }
}

JsonPlace JsonDocument::root() const { return {json_.get(), title_, {}}; }

std::string JsonPlace::path() const {
  if (key_) return concat(path_, "[", json_string(*key_), "]");
  return index_ < 0 ? path_ : concat(path_, "[", index_, "]");
}

bool JsonPlace::is_null() const { return of(json_).is_null(); }
bool JsonPlace::is_object() const { return of(json_).is_object(); }
bool JsonPlace::is_list() const { return of(json_).is_array(); }

bool JsonPlace::is_number(double number) const {
  return of(json_).is_number() && of(json_).get<double>() == number;
}

bool JsonPlace::is_text(std::string_view text) const {
  return of(json_).is_string() && of(json_).get_ref<const std::string&>() == text;
}

JsonPlace JsonPlace::operator[](std::string_view key) const {
  static const Json missing;
  if (!is_object()) refuse("an object");
  auto found = of(json_).find(key);
  return {found == of(json_).end() ? &missing : &*found, *title_,
          concat(path(), path().empty() ? "" : ".", key)};
}

std::vector<std::pair<std::string_view, JsonPlace>> JsonPlace::members() const {
  if (!is_object()) refuse("an object");
  std::vector<std::pair<std::string_view, JsonPlace>> out;
  out.reserve(of(json_).size());
  for (const auto& [key, value] : of(json_).get_ref<const Json::object_t&>())
    out.emplace_back(key, JsonPlace(&value, *title_, path())).second.key_ = &key;
  return out;
}

std::vector<JsonPlace> JsonPlace::elements() const {
  if (!is_list()) refuse("a list");
  std::vector<JsonPlace> out;
  out.reserve(of(json_).size());
  for (const Json& element : of(json_)) {
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
  if (!of(json_).is_string()) refuse("a string");
  return of(json_).get_ref<const std::string&>();
}

bool JsonPlace::flag(bool missing) const {
  if (is_null()) return missing;
  if (!of(json_).is_boolean()) refuse("true or false");
  return of(json_).get<bool>();
}

std::int32_t JsonPlace::below(std::int64_t limit) const {
  const Json& json = of(json_);
  if (!json.is_number_unsigned() || json.get<double>() >= limit)
    refuse(concat("a whole number from 0 to ", limit - 1));
  return json.get<std::int32_t>();
}

void JsonPlace::refuse(std::string_view expected) const {
  fail(*title_, ": ", path().empty() ? "it" : concat("`", path(), "`"), " must be ", expected,
       ", got ", shown(of(json_)));
}

std::string json_string(std::string_view text) { return Json(text).dump(); }

}  // namespace belfry::data
