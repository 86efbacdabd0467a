#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "belfry/framework/graph/op_def.h"

namespace belfry {
namespace {

// So that NaN equals itself and 0 differs from -0: equal options must mean equal results.
bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool equal(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Array>) {
          return identical(x, y);
        } else if constexpr (std::is_same_v<T, double>) {
          return same_bits(x, y);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_bits);
        } else {
          return x == y;
        }
      },
      a);
}

std::uint64_t hash_bytes(const void* data, std::size_t size) {
  return std::hash<std::string_view>{}({static_cast<const char*>(data), size});
}

std::uint64_t hash_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& x) -> std::uint64_t {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Array>) {
          return x.defined() ? hash_bytes(x.raw(), static_cast<std::size_t>(x.bytes())) : 0;
        } else if constexpr (std::is_arithmetic_v<T>) {
          return hash_bytes(&x, sizeof x);
        } else {
          return hash_bytes(x.data(), x.size() * sizeof(x[0]));
        }
      },
      attribute);
}

// In one function for all types, as g++ 12 otherwise writes an empty part of one among the places
// that the unwinder knows: an exception that passes there ends the process.
void add(std::vector<NamedAttribute>& list, std::string_view name, Attribute value) {
  list.push_back({std::string(name), std::move(value)});
}

}  // namespace

namespace detail {

AttributeWriter::AttributeWriter() : list_(std::make_shared<std::vector<NamedAttribute>>()) {}
AttributeWriter::~AttributeWriter() = default;

void AttributeWriter::write(std::string_view name, bool value) { add(*list_, name, value); }
void AttributeWriter::write(std::string_view name, std::int64_t value) { add(*list_, name, value); }
void AttributeWriter::write(std::string_view name, double value) { add(*list_, name, value); }
void AttributeWriter::write(std::string_view name, std::string value) {
  add(*list_, name, std::move(value));
}
void AttributeWriter::write(std::string_view name, std::vector<std::int64_t> value) {
  add(*list_, name, std::move(value));
}
void AttributeWriter::write(std::string_view name, std::vector<double> value) {
  add(*list_, name, std::move(value));
}
void AttributeWriter::write(std::string_view name, const Array& value) { add(*list_, name, value); }

std::shared_ptr<const std::vector<NamedAttribute>> AttributeWriter::attributes() const {
  return list_;
}

}  // namespace detail

Options::Options() = default;
Options::Options(const Options&) = default;
Options::Options(Options&&) noexcept = default;
Options& Options::operator=(const Options&) = default;
Options& Options::operator=(Options&&) noexcept = default;
Options::~Options() = default;

std::string to_string(const Attribute& attribute) {
  return std::visit(
      [](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (requires { text(x); }) {
          return text(x);
        } else if constexpr (std::is_same_v<T, Array>) {
          return to_string(x);
        } else {
          return "[" + join(x, ", ") + "]";
        }
      },
      attribute);
}

std::span<const NamedAttribute> Options::attributes() const {
  return attributes_ ? std::span<const NamedAttribute>(*attributes_)
                     : std::span<const NamedAttribute>();
}

bool Options::operator==(const Options& other) const {
  if (type_ != other.type_) return false;
  auto a = attributes(), b = other.attributes();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i].value, b[i].value)) return false;
  return true;
}

std::uint64_t Options::hash() const {
  std::uint64_t hash = type_.hash_code();
  for (const NamedAttribute& a : attributes())
    hash = (hash ^ hash_of(a.value)) * 0x9E3779B97F4A7C15 + (hash >> 29);
  return hash;
}

std::string to_string(const Options& options) {
  std::string out;
  for (const NamedAttribute& a : options.attributes())
    out += (out.empty() ? "" : ", ") + a.name + "=" + to_string(a.value);
  return out;
}

}  // namespace belfry
