// Augmentations as JSON, and the table of those that can be read.
#include <array>
#include <map>

#include "belfry/data/augment/definition.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

struct Table {
  Mutex mutex;
  std::map<std::string, Registered::Read, std::less<>> read BELFRY_GUARDED_BY(mutex);
};

Table& table() {
  static Table out;
  return out;
}

Registered::Read find_reader(const std::string& name) {
  MutexLock lock(table().mutex);
  auto found = table().read.find(name);
  if (found != table().read.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : table().read) known.push_back(entry.first);
  fail("unknown augmentation `", name, "`; known: ", join(known, ", "));
}

Augmentation read(const JsonValue& json) {
  auto title = json.member("name");
  if (!title || !title->is_text())
    json.refuse("an object with a `name`, as in {\"name\": \"flip_horizontal\"}");
  const std::string& name = title->words();
  Registered::Read reader = find_reader(name);
  Registered::Make make;
  with_name(name.c_str(), [&] { make = reader(json.without("name")); });
  return make();
}

template <class Number, class R>
void read_ends(const JsonValue& json, R& range) {
  if (!json.is_list() || json.elements().size() != 2) json.refuse("[low, high]");
  std::array<Number, 2> ends{};
  read_value(json, ends);
  range = {ends[0], ends[1]};
}

template <class R>
void write_ends(JsonWriter& to, const R& range) {
  check_order(to.name(), range);
  to.list(std::array{range.low, range.high});
}

}  // namespace

void read_field(const JsonValue& json, Range& value) { read_ends<double>(json, value); }
void read_field(const JsonValue& json, WholeRange& value) { read_ends<std::int64_t>(json, value); }
void write_field(JsonWriter& to, const Range& value) { write_ends(to, value); }
void write_field(JsonWriter& to, const WholeRange& value) { write_ends(to, value); }

void read_field(const JsonValue& json, std::vector<Augmentation>& value) {
  value.clear();
  for (const JsonValue& one : json.elements())
    value.push_back(with_context(concat("in ", one.path()), [&] { return read(one.titled("")); }));
}
void write_field(JsonWriter& to, const Augmentation& value) { to.add(value.json()); }

void Registered::add(const char* name, Read read) {
  MutexLock lock(table().mutex);
  bool added = table().read.emplace(name, std::move(read)).second;
  ensure(added, "two augmentations are called ", name);
}

Augmentation augmentation_from_json(std::string_view text) {
  JsonValue json = JsonValue::parse(text, "augmentation").titled("");
  try {
    return read(json);
  } catch (const Error& error) {
    if (is_shortage()) throw;
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
