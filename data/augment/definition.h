#pragma once
// How an augmentation is defined: one object that names its options once, for printing and for
// reading. flip.cpp is a short example; no list names the augmentations.

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"

namespace belfry::data {

/// Prints options or reads them: field() shows a value, or sets it if the text has one. Error when
/// reading: a value of another kind; when printing: a number that is not finite.
class OptionFields {
 public:
  virtual ~OptionFields() = default;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, std::int64_t& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, std::vector<std::int64_t>& value) = 0;
  virtual void field(const char* name, std::vector<double>& value) = 0;
  virtual void field(const char* name, std::vector<std::string>& value) = 0;
  virtual void field(const char* name, std::vector<Augmentation>& value) = 0;

  void field(const char* name, Range& value);       ///< as [low, high]; Error: low above high
  void field(const char* name, WholeRange& value);  ///< the same
  /// An enumeration with names_of(value), as one of these.
  template <class E>
  requires std::is_enum_v<E>
  void field(const char* name, E& value) {
    value = static_cast<E>(choice(name, static_cast<std::size_t>(value), names_of(value)));
  }

 private:
  std::size_t choice(const char* name, std::size_t index, std::span<const std::string_view> names);
};

/// One augmentation. `check` fails on options outside their ranges (it may be null); `apply` draws
/// its numbers first and then does the work. What they throw leaves as an Error that begins with
/// the name, unless `prefix_errors` is false.
template <class Options>
struct Definition {
  const char* name;
  void (*fields)(OptionFields&, Options&);
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
  using Read = std::function<Make(OptionFields&)>;

 private:
  template <class Options>
  static Read reader(const Definition<Options>& definition) {
    return [&definition](OptionFields& fields) -> Make {
      Options options;
      definition.fields(fields, options);
      return [&definition, options] { return definition(options); };
    };
  }
  static void add(const char* name, Read read);
};

/// The JSON of an augmentation whose options `fields` shows.
std::string describe(const char* name, const std::function<void(OptionFields&)>& fields);

/// Error unless range.low <= range.high.
void check_order(const char* name, Range range);
void check_order(const char* name, WholeRange range);

/// Runs `body`; what it throws leaves as an Error that begins with `name`.
void with_name(const char* name, const std::function<void()>& body);

template <class Options>
Augmentation Definition<Options>::operator()(Options options) const {
  std::string json;
  with_name(name, [&] {
    json = describe(name, [&](OptionFields& f) { fields(f, options); });
    if (check) check(options);
  });
  auto run = [apply = apply, options](Features& f, PhiloxStream& r) { apply(options, f, r); };
  if (!prefix_errors) return Augmentation(name, std::move(json), std::move(run));
  return Augmentation(name, std::move(json), [name = name, run](Features& f, PhiloxStream& r) {
    with_name(name, [&] { run(f, r); });
  });
}

}  // namespace belfry::data
