// Augmentations as JSON, and the table of those that can be read.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "belfry/data/augment/definition.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 64;

struct Table {
  Mutex mutex;
  std::map<std::string, Registered::Read, std::less<>> read BELFRY_GUARDED_BY(mutex);
};

Table& table() {
  static Table out;
  return out;
}

std::string json_string(const std::string& s) {
  try {
    return Json(s).dump();
  } catch (const Json::exception&) {
    fail("a name is not UTF-8");
  }
}

class Writer final : public OptionFields {
 public:
  explicit Writer(const char* name) : text_(concat("{\"name\":", json_string(name))) {}
  std::string text() const { return text_ + "}"; }

  using OptionFields::field;
  void field(const char* name, bool& value) override { add(name, belfry::text(value)); }
  void field(const char* name, std::int64_t& value) override { add(name, belfry::text(value)); }
  void field(const char* name, double& value) override { add(name, number(name, value)); }
  void field(const char* name, std::string& value) override { add(name, json_string(value)); }
  void field(const char* name, std::vector<std::int64_t>& value) override {
    add_list(name, value, [](std::int64_t v) { return belfry::text(v); });
  }
  void field(const char* name, std::vector<double>& value) override {
    add_list(name, value, [&](double v) { return number(name, v); });
  }
  void field(const char* name, std::vector<std::string>& value) override {
    add_list(name, value, json_string);
  }
  void field(const char* name, std::vector<Augmentation>& value) override {
    add_list(name, value, [](const Augmentation& a) { return to_string(a); });
  }

 private:
  static std::string number(const char* name, double value) {
    require(std::isfinite(value), name, " must be a finite number, got ", value);
    // "-0" would be read as a whole number, which has no sign.
    return value == 0 && std::signbit(value) ? "-0.0" : belfry::text(value);
  }
  void add(const char* name, const std::string& value) {
    text_ += concat(",", json_string(name), ":", value);
  }
  template <class T, class F>
  void add_list(const char* name, const std::vector<T>& values, F&& text_of) {
    std::vector<std::string> words;
    for (const T& value : values) words.push_back(text_of(value));
    add(name, concat("[", join(words, ","), "]"));
  }

  std::string text_;
};

Augmentation read(const Json& json);

// A value for messages, cut where it is long.
std::string shown(const Json& json) {
  std::string out = json.dump(-1, ' ', true);
  constexpr std::size_t most = 60;
  return out.size() <= most ? out : out.substr(0, most) + "...";
}

void take(const Json& json, const std::string& place, bool& value) {
  require(json.is_boolean(), place, " must be true or false, got ", shown(json));
  value = json.get<bool>();
}
void take(const Json& json, const std::string& place, std::int64_t& value) {
  bool whole = json.is_number_integer()
               && (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
  require(whole, place, " must be a whole number, got ", shown(json));
  value = json.get<std::int64_t>();
}
void take(const Json& json, const std::string& place, double& value) {
  require(json.is_number(), place, " must be a number, got ", shown(json));
  value = json.get<double>();
}
void take(const Json& json, const std::string& place, std::string& value) {
  require(json.is_string(), place, " must be a string, got ", shown(json));
  value = json.get<std::string>();
}
template <class T>
void take(const Json& json, const std::string& place, std::vector<T>& value) {
  require(json.is_array(), place, " must be a list, got ", shown(json));
  value.clear();
  for (const Json& item : json) {
    std::string item_place = concat(place, "[", value.size(), "]");
    if constexpr (std::is_same_v<T, Augmentation>) {
      value.push_back(with_context("in " + item_place, [&] { return read(item); }));
    } else {
      take(item, item_place, value.emplace_back());
    }
  }
}

class Reader final : public OptionFields {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  using OptionFields::field;
  void field(const char* name, bool& value) override { get(name, value); }
  void field(const char* name, std::int64_t& value) override { get(name, value); }
  void field(const char* name, double& value) override { get(name, value); }
  void field(const char* name, std::string& value) override { get(name, value); }
  void field(const char* name, std::vector<std::int64_t>& value) override { get(name, value); }
  void field(const char* name, std::vector<double>& value) override { get(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { get(name, value); }
  void field(const char* name, std::vector<Augmentation>& value) override { get(name, value); }

  /// Error unless every key was asked for.
  void finish() const {
    for (const auto& [key, value] : json_.items())
      require(key == "name" || std::find(known_.begin(), known_.end(), key) != known_.end(),
              "unknown option `", key, "`; known: ", join(known_, ", "));
  }

 private:
  template <class T>
  void get(const char* name, T& value) {
    known_.emplace_back(name);
    auto found = json_.find(name);
    if (found != json_.end()) take(*found, name, value);
  }

  const Json& json_;
  std::vector<std::string> known_;
};

Registered::Read find_reader(const std::string& name) {
  MutexLock lock(table().mutex);
  auto found = table().read.find(name);
  if (found != table().read.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : table().read) known.push_back(entry.first);
  fail("unknown augmentation `", name, "`; known: ", join(known, ", "));
}

Augmentation read(const Json& json) {
  require(json.is_object() && json.contains("name") && json["name"].is_string(),
          "expected an object with a `name`, as in {\"name\": \"flip_horizontal\"}; got ",
          shown(json));
  const auto& name = json["name"].get_ref<const std::string&>();
  Registered::Read reader = find_reader(name);
  Registered::Make make;
  with_name(name.c_str(), [&] {
    Reader fields(json);
    make = reader(fields);
    fields.finish();
  });
  return make();
}

// Refuses what the parser would let pass: a key twice, and nesting that recursion could not follow.
class Guard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      require(depth < deepest, "augmentation: nested more than ", deepest, " deep");
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys_.back().insert(key).second, "augmentation: the option ", shown(parsed),
              " is given twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

void Registered::add(const char* name, Read read) {
  MutexLock lock(table().mutex);
  bool added = table().read.emplace(name, std::move(read)).second;
  ensure(added, "two augmentations are called ", name);
}

std::string describe(const char* name, const std::function<void(OptionFields&)>& fields) {
  Writer writer(name);
  fields(writer);
  return writer.text();
}

Augmentation augmentation_from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text, Guard());
  } catch (const Json::exception& error) {
    fail("augmentation: not JSON: ", error.what());
  }
  try {
    return read(json);
  } catch (const Error& error) {
    fail("augmentation: ", error.what());
  }
}

std::vector<std::string> augmentation_names() {
  MutexLock lock(table().mutex);
  std::vector<std::string> out;
  for (const auto& entry : table().read) out.push_back(entry.first);
  return out;
}

}  // namespace belfry::data
