#include "belfry/framework/tensor/example.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/base/protobuf_wire.h"

namespace belfry::tf {
namespace {

using protobuf::WireReader;
using protobuf::WireType;
using protobuf::WireWriter;

// Message Feature: bytes_list = 1, float_list = 2, int64_list = 3. The numbers are also the places
// of the kinds in the variant.

void read_strings(WireReader list, std::vector<std::string>& out) {
  while (list.next())
    if (list.is(1, WireType::length_delimited)) out.emplace_back(list.text());
}

void read_floats(WireReader list, std::vector<float>& out) {
  while (list.next()) {
    if (list.is(1, WireType::fixed32)) out.push_back(std::bit_cast<float>(list.fixed32()));
    if (list.is(1, WireType::length_delimited)) {
      auto packed = list.bytes();
      if (packed.size() % sizeof(float) != 0)
        list.fail_here("before it stands a list of floats with ", packed.size(),
                       " bytes, expected a multiple of 4");
      if (packed.empty()) continue;
      std::size_t old = out.size();
      out.resize(old + packed.size() / sizeof(float));
      std::memcpy(out.data() + old, packed.data(), packed.size());
    }
  }
}

void read_integers(WireReader list, std::vector<std::int64_t>& out) {
  while (list.next()) {
    if (list.is(1, WireType::varint)) out.push_back(list.varint());
    if (list.is(1, WireType::length_delimited)) {
      for (WireReader packed = list.message(); !packed.done();) out.push_back(packed.varint());
    }
  }
}

/// The list of one kind: the last kind in the message counts, and its parts are joined.
template <class List>
List& list_in(Feature& feature) {
  if (!std::holds_alternative<List>(feature)) feature.emplace<List>();
  return std::get<List>(feature);
}

void read_value(WireReader message, Feature& out) {
  while (message.next()) {
    if (message.is(1, WireType::length_delimited))
      read_strings(message.message(), list_in<std::vector<std::string>>(out));
    else if (message.is(2, WireType::length_delimited))
      read_floats(message.message(), list_in<std::vector<float>>(out));
    else if (message.is(3, WireType::length_delimited))
      read_integers(message.message(), list_in<std::vector<std::int64_t>>(out));
  }
}

/// Message FeatureList: feature = 1.
void read_value(WireReader message, std::vector<Feature>& out) {
  while (message.next())
    if (message.is(1, WireType::length_delimited))
      read_value(message.message(), out.emplace_back());
}

/// Messages Features and FeatureLists: entries = 1, each with key = 1 and value = 2. Values are
/// read for the names for which `wanted` holds.
template <class Map, class Wanted>
void read_map(WireReader message, Wanted wanted, Map& out) {
  while (message.next()) {
    if (!message.is(1, WireType::length_delimited)) continue;
    const WireReader entry = message.message();
    std::string_view name;
    for (WireReader fields = entry; fields.next();)
      if (fields.is(1, WireType::length_delimited)) name = fields.text();
    if (!wanted(name)) continue;
    with_context(concat("in feature `", name, "`"), [&] {
      typename Map::mapped_type value;
      for (WireReader fields = entry; fields.next();)
        if (fields.is(2, WireType::length_delimited)) read_value(fields.message(), value);
      out.insert_or_assign(std::string(name), std::move(value));
    });
  }
}

template <class Wanted>
Example read_example(std::span<const std::byte> bytes, Wanted wanted) {
  Example out;
  for (WireReader message(bytes); message.next();)
    if (message.is(1, WireType::length_delimited))
      read_map(message.message(), wanted, out.features);
  return out;
}

template <class WantedContext, class WantedLists>
SequenceExample read_sequence_example(std::span<const std::byte> bytes, WantedContext in_context,
                                      WantedLists in_lists) {
  SequenceExample out;
  for (WireReader message(bytes); message.next();) {
    if (message.is(1, WireType::length_delimited))
      read_map(message.message(), in_context, out.context);
    else if (message.is(2, WireType::length_delimited))
      read_map(message.message(), in_lists, out.feature_lists);
  }
  return out;
}

constexpr auto all = [](std::string_view) { return true; };

void write_value(WireWriter& out, std::uint32_t field, const Feature& feature) {
  out.message(field, [&] {
    if (std::holds_alternative<NoKind>(feature)) return;
    out.message(static_cast<std::uint32_t>(feature.index()), [&] {
      if (auto* strings = std::get_if<std::vector<std::string>>(&feature)) {
        for (const std::string& value : *strings) out.text(1, value);
      } else if (auto* floats = std::get_if<std::vector<float>>(&feature)) {
        if (!floats->empty()) out.packed_floats(1, *floats);
      } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&feature)) {
        if (integers->empty()) return;
        out.message(1, [&] {
          for (std::int64_t value : *integers) out.packed_varint(value);
        });
      }
    });
  });
}

void write_value(WireWriter& out, std::uint32_t field, const std::vector<Feature>& steps) {
  out.message(field, [&] {
    for (const Feature& step : steps) write_value(out, 1, step);
  });
}

template <class Map>
void write_map(WireWriter& out, std::uint32_t field, const Map& map) {
  if (map.empty()) return;
  out.message(field, [&] {
    for (const auto& entry : map) {
      out.message(1, [&] {
        out.text(1, entry.first);
        write_value(out, 2, entry.second);
      });
    }
  });
}

// From here on, the typed reading.

void check_dtype(DType dtype) {
  require(dtype == DType::f32 || dtype == DType::i64 || dtype == DType::u8, "the spec asks for ",
          dtype, ", expected f32, i64 or u8; cast afterwards");
}

/// The values of a feature as bytes; those of a string are its characters.
std::span<const std::byte> values_of(const Feature& feature, DType dtype) {
  auto* floats = std::get_if<std::vector<float>>(&feature);
  if (floats && dtype == DType::f32) return std::as_bytes(std::span(*floats));
  auto* integers = std::get_if<std::vector<std::int64_t>>(&feature);
  if (integers && dtype == DType::i64) return std::as_bytes(std::span(*integers));
  auto* strings = std::get_if<std::vector<std::string>>(&feature);
  if (strings && dtype == DType::u8) {
    require(strings->size() <= 1, "it has ", strings->size(),
            " strings, expected one; a StringList takes any number of them");
    if (strings->empty()) return {};
    return std::as_bytes(std::span(strings->front()));
  }
  constexpr std::array kinds{"no values", "strings", "floats", "integers"};
  fail("it has ", kinds[feature.index()], ", which are not ", dtype,
       "; floats are f32, integers are i64, and a string is u8");
}

/// `other` takes what this one does not.
std::span<const std::byte> values_of(const Feature& feature, DType dtype, const Shape& shape,
                                     const char* other) {
  auto values = values_of(feature, dtype);
  std::int64_t count = values.size() / size_of(dtype);
  require(count == shape.elements(), "it has ", count, dtype == DType::u8 ? " bytes" : " values",
          ", expected ", shape.elements(), " for the shape ", shape, "; a ", other,
          " takes any number");
  return values;
}

Array copy(std::span<const std::byte> values, const Shape& shape, DType dtype) {
  Array out(shape, dtype);
  std::copy(values.begin(), values.end(), out.raw_bytes().begin());
  return out;
}

Array default_array(const FixedLen& spec) {
  const Array& value = spec.default_value;
  require(value.defined(), "it is missing, and the spec has no default");
  require(value.dtype() == spec.dtype
              && (value.elements() == 1 || value.elements() == spec.shape.elements()),
          "the default is ", value.type(), ", expected ", TensorType{spec.shape, spec.dtype},
          " or one value of that type");
  Array out(spec.shape, spec.dtype);
  std::span<const std::byte> from = value.raw_bytes();
  std::span<std::byte> to = out.raw_bytes();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i % from.size()];
  return out;
}

Array to_array(const Feature& feature, const FixedLen& spec) {
  if (std::holds_alternative<NoKind>(feature)) return default_array(spec);
  return copy(values_of(feature, spec.dtype, spec.shape, "VarLen"), spec.shape, spec.dtype);
}

Array to_array(const Feature& feature, const VarLen& spec) {
  if (std::holds_alternative<NoKind>(feature)) return Array(Shape{0}, spec.dtype);
  auto values = values_of(feature, spec.dtype);
  return copy(values, {static_cast<std::int64_t>(values.size() / size_of(spec.dtype))}, spec.dtype);
}

Array to_array(const std::vector<Feature>& steps, const FixedLenSequence& spec) {
  // All steps are checked before there is memory for them: those of a bad message may be empty.
  for (std::size_t i = 0; i < steps.size(); ++i)
    with_context(concat("at step ", i),
                 [&] { values_of(steps[i], spec.dtype, spec.shape, "VarLenSequence"); });
  std::vector<std::int64_t> sizes{std::ssize(steps)};
  sizes.insert(sizes.end(), spec.shape.begin(), spec.shape.end());
  Array out(Shape(sizes), spec.dtype);
  auto to = out.raw_bytes().begin();
  for (const Feature& step : steps) {
    auto values = values_of(step, spec.dtype);
    to = std::copy(values.begin(), values.end(), to);
  }
  return out;
}

/// Values of different lengths, one after the other, and their lengths.
struct Ragged {
  Array values, lengths;
};

/// Call part(i) for the bytes of the i-th of `count`.
template <class Part>
Ragged joined(std::int64_t count, DType dtype, Part part) {
  Array lengths(Shape{count}, DType::i64);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    auto length = static_cast<std::int64_t>(part(i).size() / size_of(dtype));
    lengths.span<std::int64_t>()[i] = length;
    total += length;
  }
  Array values(Shape{total}, dtype);
  auto to = values.raw_bytes().begin();
  for (std::int64_t i = 0; i < count; ++i) to = std::ranges::copy(part(i), to).out;
  return {std::move(values), std::move(lengths)};
}

Ragged to_ragged(const Feature& feature) {
  static const std::vector<std::string> none;
  auto* strings = std::get_if<std::vector<std::string>>(&feature);
  if (!strings && !std::holds_alternative<NoKind>(feature))
    values_of(feature, DType::u8);  // says what it has instead
  return joined(std::ssize(strings ? *strings : none), DType::u8,
                [&](std::int64_t i) { return std::as_bytes(std::span((*strings)[i])); });
}

Ragged to_ragged(const std::vector<Feature>& steps, DType dtype) {
  return joined(std::ssize(steps), dtype, [&](std::int64_t i) {
    const Feature& step = steps[i];
    if (std::holds_alternative<NoKind>(step)) return std::span<const std::byte>();
    return with_context(concat("at step ", i), [&] { return values_of(step, dtype); });
  });
}

template <class Spec>
auto named_in(const Spec& spec) {
  return [&spec](std::string_view name) {
    return std::any_of(spec.begin(), spec.end(), [&](const auto& s) { return s.first == name; });
  };
}

/// Calls `body`, which adds the feature `name`. Errors name it.
template <class Body>
void in_feature(const Features& out, const std::string& name, Body body) {
  try {
    require(!out.contains(name) && !out.contains(name + "/values"), "the spec names it twice");
    body();
  } catch (const Error& error) {
    if (is_shortage()) throw;  // nothing against the message
    fail("feature `", name, "`: ", error.what());
  }
}

void set(Features& out, const std::string& name, Array value) { out.set(name, std::move(value)); }

void set(Features& out, const std::string& name, Ragged value) {
  out.set(name + "/values", std::move(value.values));
  out.set(name + "/lengths", std::move(value.lengths));
}

/// The list of that name. A missing one is empty, if that is allowed.
const std::vector<Feature>& list_of(const SequenceExample& example, const std::string& name,
                                    bool allow_missing) {
  static const std::vector<Feature> none;
  auto found = example.feature_lists.find(name);
  require(found != example.feature_lists.end() || allow_missing,
          "the list is missing, and the spec does not allow that");
  return found != example.feature_lists.end() ? found->second : none;
}

/// The array that a feature becomes: an Array, or a Ragged for a StringList.
template <class Spec>
auto convert(const Feature& feature, const Spec& spec) {
  if constexpr (std::is_same_v<Spec, StringList>) {
    return to_ragged(feature);
  } else {
    check_dtype(spec.dtype);
    return to_array(feature, spec);
  }
}

void add_features(Features& out, const FeatureMap& map, const ExampleSpec& spec) {
  const Feature missing;
  for (const auto& [name, wanted] : spec) {
    auto found = map.find(name);
    const Feature& feature = found == map.end() ? missing : found->second;
    auto add = [&, &name = name](const auto& w) { set(out, name, convert(feature, w)); };
    in_feature(out, name, [&, &wanted = wanted] { std::visit(add, wanted); });
  }
}

}  // namespace

Example Example::parse(std::span<const std::byte> bytes) { return read_example(bytes, all); }

std::vector<std::byte> Example::serialize() const {
  WireWriter out;
  write_map(out, 1, features);
  return out.release();
}

SequenceExample SequenceExample::parse(std::span<const std::byte> bytes) {
  return read_sequence_example(bytes, all, all);
}

std::vector<std::byte> SequenceExample::serialize() const {
  WireWriter out;
  write_map(out, 1, context);
  write_map(out, 2, feature_lists);
  return out.release();
}

Features parse_example(std::span<const std::byte> bytes, const ExampleSpec& spec) {
  Features out;
  add_features(out, read_example(bytes, named_in(spec)).features, spec);
  return out;
}

Features parse_sequence_example(std::span<const std::byte> bytes, const SequenceExampleSpec& spec) {
  SequenceExample example =
      read_sequence_example(bytes, named_in(spec.context), [&](std::string_view name) {
        return named_in(spec.feature_lists)(name) || named_in(spec.var_len_lists)(name);
      });
  Features out;
  add_features(out, example.context, spec.context);
  auto add = [&](const std::string& name, const auto& wanted, auto convert_steps) {
    in_feature(out, name, [&] {
      check_dtype(wanted.dtype);
      set(out, name, convert_steps(list_of(example, name, wanted.allow_missing), wanted));
    });
  };
  using Steps = std::vector<Feature>;
  for (const auto& [name, wanted] : spec.feature_lists)
    add(name, wanted, [](const Steps& s, const FixedLenSequence& w) { return to_array(s, w); });
  for (const auto& [name, wanted] : spec.var_len_lists)
    add(name, wanted,
        [](const Steps& s, const VarLenSequence& w) { return to_ragged(s, w.dtype); });
  return out;
}

}  // namespace belfry::tf
