#pragma once
// How an augmentation is defined: a struct of options and one object. flip.cpp is a short example;
// no list names the augmentations.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/json.h"

namespace belfry::data {

// Ranges and augmentations within options. Error when reading: a value of another kind; when
// writing a range: low above high.
void read_field(const JsonValue& json, Range& value);
void read_field(const JsonValue& json, WholeRange& value);
void read_field(const JsonValue& json, std::vector<Augmentation>& value);
void write_field(JsonWriter& to, const Range& value);
void write_field(JsonWriter& to, const WholeRange& value);
void write_field(JsonWriter& to, const Augmentation& value);

/// One augmentation. `check` fails on options outside their ranges (it may be null); `apply` draws
/// its numbers first and then does the work. What they throw leaves as an Error that begins with
/// the name, unless `prefix_errors` is false.
template <OptionStruct Options>
struct Definition {
  const char* name;
  void (*check)(const Options&);
  void (*apply)(const Options&, Features&, PhiloxStream&);
  bool prefix_errors = true;

  Augmentation operator()(Options options) const;
};

/// Makes definitions known to augmentation_from_json(); one such object a file.
class Registered {
 public:
  template <class... Options>
  explicit Registered(const Definition<Options>&... definitions) {
    (add(definitions.name, reader(definitions)), ...);
  }

  using Make = std::function<Augmentation()>;
  using Read = std::function<Make(const JsonValue&)>;

 private:
  template <class Options>
  static Read reader(const Definition<Options>& definition) {
    return [&definition](const JsonValue& json) -> Make {
      Options options;
      json.fields(options);
      return [&definition, options] { return definition(options); };
    };
  }
  static void add(const char* name, Read read);
};

/// Error unless range.low <= range.high.
void check_order(std::string_view name, Range range);
void check_order(std::string_view name, WholeRange range);

/// Runs `body`; what it throws leaves as an Error that begins with `name`.
void with_name(const char* name, const std::function<void()>& body);

template <OptionStruct Options>
Augmentation Definition<Options>::operator()(Options options) const {
  std::string text;
  with_name(name, [&] {
    JsonWriter json(JsonWriter::BadText::refuse);
    json.object([&] {
      json("name", name);
      Options::fields(options, json);
    });
    if (check) check(options);
    text = json.json();
  });
  auto run = [apply = apply, options](Features& f, PhiloxStream& r) { apply(options, f, r); };
  if (!prefix_errors) return Augmentation(name, std::move(text), std::move(run));
  return Augmentation(name, std::move(text), [name = name, run](Features& f, PhiloxStream& r) {
    with_name(name, [&] { run(f, r); });
  });
}

}  // namespace belfry::data
