#pragma once
// How the options of a model are read from JSON. Used by models/ alone.

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/framework.h"
#include "belfry/models/heads.h"

namespace belfry::models::by_name {

using Json = nlohmann::json;

class Reader;

/// The keys of a map, separated by commas.
template <class T>
std::string keys(const T& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return join(names, ", ");
}

/// A struct whose fields a function fields(T&, Reader&) of this namespace lists.
template <class T>
concept Fielded = requires(T& value, Reader& reader) {
  fields(value, reader);
};

/// Reads the fields of an options struct from an object, and complains about what is left.
class Reader {
 public:
  Reader(std::string what, const Json& object) : what_(std::move(what)), left_(object) {
    require(left_.is_object(), what_, ": expected a JSON object, got ", left_.dump());
  }

  template <class T>
  Reader& operator()(const char* name, T& value) {
    return read(name, [&](const Json& json) { take(name, json, value); });
  }
  /// The same for a value that has a name.
  template <class T>
  Reader& operator()(const char* name, T& value, const std::map<std::string, T>& names) {
    return read(name, [&](const Json& json) {
      auto found = json.is_string() ? names.find(json.get<std::string>()) : names.end();
      require(found != names.end(), what_, ": `", name, "` is one of ", keys(names), ", got ",
              json.dump());
      value = found->second;
    });
  }
  void finish() const {
    for (const auto& [name, value] : left_.items())
      fail(what_, ": there is no field `", name, "`; there are ", join(known_, ", "));
  }

 private:
  template <class Take>
  Reader& read(const char* name, Take&& take) {
    known_.emplace_back(name);
    if (auto found = left_.find(name); found != left_.end()) {
      take(*found);
      left_.erase(name);
    }
    return *this;
  }
  void take(const char* name, const Json& json, std::string& value) {
    check(json.is_string(), name, json);
    value = json.get<std::string>();
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void take(const char* name, const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>)
      check(json.is_boolean(), name, json);
    else if constexpr (std::is_integral_v<T>)
      check(is_in_range<T>(json), name, json);
    else
      check(json.is_number(), name, json);
    value = json.get<T>();
  }
  void take(const char* name, const Json& json, Schedule& value) {
    double rate = 0;
    take(name, json, rate);
    value = rate;
  }
  template <Fielded T>
  void take(const char* name, const Json& json, T& value) {
    Reader inner(concat(what_, ": ", name), json);
    fields(value, inner);
    inner.finish();
  }
  template <class T>
  void take(const char* name, const Json& json, std::vector<T>& value) {
    require(json.is_array(), what_, ": `", name, "` must be a list, got ", json.dump());
    value.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) take(name, json[i], value[i]);
  }
  void take(const char* name, const Json& json, Optimizer& value);
  void take(const char* name, const Json& json, Head& value);

  void check(bool good, const char* name, const Json& json) const {
    require(good, what_, ": `", name, "` cannot be ", json.dump());
  }
  template <std::integral T>
  static bool is_in_range(const Json& json) {
    if (json.is_number_unsigned()) return std::in_range<T>(json.get<std::uint64_t>());
    return json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
  }

  std::string what_;
  Json left_;
  std::vector<std::string> known_;
};

/// Makes a model from the object of its options.
using Make = std::function<ModelFn(const std::string& name, const Json&)>;
using Makers = std::map<std::string, Make, std::less<>>;

/// A function of (name, json): `function` of `defaults`, changed by an object's fields.
template <class Options, class T>
auto maker(T (*function)(Options), std::remove_cvref_t<Options> defaults = {}) {
  return [=](const std::string& name, const Json& json) {
    auto options = defaults;
    Reader reader(name, json);
    fields(options, reader);
    reader.finish();
    return function(std::move(options));
  };
}

/// The models that there are, one function a file.
Makers classifiers();
Makers gans();
Makers masks();
Makers sequences();
Makers tables();

}  // namespace belfry::models::by_name
