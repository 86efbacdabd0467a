#pragma once
// How an augmentation is defined: a struct of options and one object. flip.cpp is a short example;
// no list names the augmentations.

#include <functional>
#include <memory>
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
/// the name, unless `prefix_errors` is false. `apply` gets the options as a Prepared, made of them
/// once: a table, for example, that all calls share.
template <OptionStruct Options, class Prepared = Options>
struct Definition {
  const char* name;
  void (*check)(const Options&);
  void (*apply)(const Prepared&, Features&, PhiloxStream&);
  bool prefix_errors = true;

  Augmentation operator()(Options options) const;
};

/// Makes definitions known to augmentation_from_json(); one such object a file.
class Registered {
 public:
  template <class... Options, class... Prepared>
  explicit Registered(const Definition<Options, Prepared>&... definitions) {
    (add(definitions.name, reader(definitions)), ...);
  }

  using Make = std::function<Augmentation()>;
  using Read = std::function<Make(const JsonValue&)>;

 private:
  template <class Options, class Prepared>
  static Read reader(const Definition<Options, Prepared>& definition) {
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

/// Runs `body`. An exception leaves as an Error that begins with `name`, a lack of memory as it is.
void with_name(const char* name, const std::function<void()>& body);

template <OptionStruct Options, class Prepared>
Augmentation Definition<Options, Prepared>::operator()(Options options) const {
  std::string text;
  std::shared_ptr<const Prepared> prepared;
  with_name(name, [&] {
    JsonWriter json(JsonWriter::BadText::refuse);
    json.object([&] {
      json("name", name);
      Options::fields(options, json);
    });
    if (check) check(options);
    text = json.json();
    prepared = std::make_shared<const Prepared>(std::move(options));
  });
  auto run = [apply = apply, prepared](Features& f, PhiloxStream& r) { apply(*prepared, f, r); };
  if (!prefix_errors) return Augmentation(name, std::move(text), std::move(run));
  return Augmentation(name, std::move(text), [name = name, run](Features& f, PhiloxStream& r) {
    with_name(name, [&] { run(f, r); });
  });
}

}  // namespace belfry::data
