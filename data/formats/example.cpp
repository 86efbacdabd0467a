#include "belfry/data/formats/example.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "belfry/data/formats/protobuf_wire.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
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
    if (list.is(1, WireType::varint)) out.push_back(static_cast<std::int64_t>(list.varint()));
    if (list.is(1, WireType::length_delimited)) {
      for (WireReader packed = list.message(); !packed.done();)
        out.push_back(static_cast<std::int64_t>(packed.varint()));
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
    if (std::holds_alternative<std::monostate>(feature)) return;
    out.message(static_cast<std::uint32_t>(feature.index()), [&] {
      if (auto* strings = std::get_if<std::vector<std::string>>(&feature)) {
        for (const std::string& value : *strings) out.text(1, value);
      } else if (auto* floats = std::get_if<std::vector<float>>(&feature)) {
        if (!floats->empty()) out.bytes(1, std::as_bytes(std::span(*floats)));
      } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&feature)) {
        if (integers->empty()) return;
        out.message(1, [&] {
          for (std::int64_t value : *integers) out.packed_varint(static_cast<std::uint64_t>(value));
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
    require(strings->size() <= 1, "it has ", strings->size(), " strings, expected one");
    if (strings->empty()) return {};
    return std::as_bytes(std::span(strings->front()));
  }
  constexpr std::array kinds{"no values", "strings", "floats", "integers"};
  fail("it has ", kinds[feature.index()], ", which are not ", dtype,
       "; floats are f32, integers are i64, and a string is u8");
}

std::span<const std::byte> values_of(const Feature& feature, DType dtype, const Shape& shape) {
  auto values = values_of(feature, dtype);
  auto count = static_cast<std::int64_t>(values.size() / size_of(dtype));
  require(count == shape.elements(), "it has ", count, dtype == DType::u8 ? " bytes" : " values",
          ", expected ", shape.elements(), " for the shape ", shape, "; a VarLen takes any number");
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
  if (std::holds_alternative<std::monostate>(feature)) return default_array(spec);
  return copy(values_of(feature, spec.dtype, spec.shape), spec.shape, spec.dtype);
}

Array to_array(const Feature& feature, const VarLen& spec) {
  if (std::holds_alternative<std::monostate>(feature)) return Array(Shape{0}, spec.dtype);
  auto values = values_of(feature, spec.dtype);
  return copy(values, {static_cast<std::int64_t>(values.size() / size_of(spec.dtype))}, spec.dtype);
}

Array to_array(const std::vector<Feature>& steps, const FixedLenSequence& spec) {
  // All steps are checked before there is memory for them: those of a bad message may be empty.
  for (std::size_t i = 0; i < steps.size(); ++i)
    with_context(concat("at step ", i), [&] { values_of(steps[i], spec.dtype, spec.shape); });
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

template <class Spec>
auto named_in(const Spec& spec) {
  return [&spec](std::string_view name) {
    return std::any_of(spec.begin(), spec.end(), [&](const auto& s) { return s.first == name; });
  };
}

/// Adds convert() as `name`; Errors name the feature.
template <class Convert>
void add(Features& out, const std::string& name, Convert convert) {
  try {
    require(!out.contains(name), "the spec names it twice");
    out.set(name, convert());
  } catch (const Error& error) {
    fail("feature `", name, "`: ", error.what());
  }
}

void add_features(Features& out, const FeatureMap& map, const ExampleSpec& spec) {
  const Feature missing;
  for (const auto& [name, wanted] : spec) {
    auto found = map.find(name);
    const Feature& feature = found == map.end() ? missing : found->second;
    auto convert = [&](const auto& w) {
      check_dtype(w.dtype);
      return to_array(feature, w);
    };
    add(out, name, [&, &wanted = wanted] { return std::visit(convert, wanted); });
  }
}

}  // namespace

Example Example::parse(std::span<const std::byte> bytes) { return read_example(bytes, all); }

std::vector<std::byte> Example::serialize() const {
  WireWriter out;
  write_map(out, 1, features);
  return out.take();
}

SequenceExample SequenceExample::parse(std::span<const std::byte> bytes) {
  return read_sequence_example(bytes, all, all);
}

std::vector<std::byte> SequenceExample::serialize() const {
  WireWriter out;
  write_map(out, 1, context);
  write_map(out, 2, feature_lists);
  return out.take();
}

Features parse_example(std::span<const std::byte> bytes, const ExampleSpec& spec) {
  Features out;
  add_features(out, read_example(bytes, named_in(spec)).features, spec);
  return out;
}

Features parse_sequence_example(std::span<const std::byte> bytes, const SequenceExampleSpec& spec) {
  SequenceExample example =
      read_sequence_example(bytes, named_in(spec.context), named_in(spec.feature_lists));
  Features out;
  add_features(out, example.context, spec.context);
  for (const auto& [name, wanted] : spec.feature_lists) {
    auto found = example.feature_lists.find(name);
    add(out, name, [&, &wanted = wanted] {
      check_dtype(wanted.dtype);
      if (found != example.feature_lists.end()) return to_array(found->second, wanted);
      require(wanted.allow_missing, "the list is missing, and the spec does not allow that");
      return to_array(std::vector<Feature>(), wanted);
    });
  }
  return out;
}

}  // namespace belfry::data
