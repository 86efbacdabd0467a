#pragma once
// How models are made from the JSON of their options. Used by models/ alone.

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "belfry/framework/base/json.h"
#include "belfry/framework/framework.h"
#include "belfry/models/heads.h"

namespace belfry {

// Beside the types, so that read_value() finds them.
void read_field(const JsonValue& json, Schedule& value);
void read_field(const JsonValue& json, Optimizer& value);

}  // namespace belfry

namespace belfry::models {

void read_field(const JsonValue& json, Head& value);

}  // namespace belfry::models

namespace belfry::models::by_name {

/// Makes a model from the object of its options.
using Make = std::function<ModelFn(const JsonValue&)>;
using Makers = std::map<std::string, Make, std::less<>>;

/// A function of JSON: `function` of `defaults`, changed by an object's fields.
template <class Options, class T>
auto maker(T (*function)(Options), std::remove_cvref_t<Options> defaults = {}) {
  return [=](const JsonValue& json) {
    auto options = defaults;
    json.fields(options);
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
