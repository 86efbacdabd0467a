#include "belfry/data/formats/csv_value.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "belfry/framework/base/error.h"

namespace belfry::data {

std::string shown(std::string_view field) {
  constexpr std::size_t most = 40;
  return concat('`', field.substr(0, most), field.size() > most ? "..." : "", '`');
}

std::string_view trim(std::string_view s) {
  std::size_t begin = s.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t") + 1 - begin);
}

namespace {

// The least e such that the number is below 10^e, or about that where e is huge.
std::int64_t magnitude(std::string_view number) {
  std::size_t letter = std::min(number.find_first_of("eE"), number.size());
  std::string_view digits = number.substr(0, letter);
  auto point = std::ssize(digits.substr(0, digits.find('.')));
  std::int64_t first = digits.find_first_of("123456789");
  std::int64_t out = first < point ? point - first : point - first + 1;
  if (letter == number.size()) return out;
  std::string_view exponent = number.substr(letter + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t e = 0;
  auto parsed = std::from_chars(exponent.data(), exponent.data() + exponent.size(), e);
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  if (parsed.ec != std::errc()) e = exponent.starts_with('-') ? -huge : huge;
  return out + std::clamp(e, -huge, huge);
}

// The message lacks only where: the caller knows.
template <class T>
T parse_number(std::string_view field) {
  std::string_view s = trim(field);
  T value{};
  auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), value);
  require(
      (code == std::errc() || code == std::errc::result_out_of_range) && end == s.data() + s.size(),
      shown(field), " is not of type ", dtype_of<T>);
  if (code == std::errc()) return value;
  // Out of range is also what is too small to be told from 0.
  bool tiny = std::is_floating_point_v<T> && magnitude(s) < 0;
  require(tiny, shown(field), " does not fit ", dtype_of<T>);
  return s.starts_with('-') ? -T{} : T{};
}

bool parse_boolean(std::string_view field) {
  std::string s(trim(field));
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = c - 'A' + 'a';
  bool yes = s == "true" || s == "1";
  require(yes || s == "false" || s == "0", shown(field),
          " is not of type bool: expected true, false, 1 or 0");
  return yes;
}

// Memory for `out` that may be overwritten, its own if possible.
void prepare(Array& out, const TensorType& type) {
  if (out.type() != type || !out.exclusive()) out = Array(type);
}

void set_text(Array& out, std::string_view value) {
  prepare(out, {{std::ssize(value)}, DType::u8});
  std::copy(value.begin(), value.end(), out.span<std::uint8_t>().begin());
}

}  // namespace

std::size_t fields_of(const CsvColumn& column) {
  return std::max({column.fields.size(), static_cast<std::size_t>(column.width), std::size_t{1}});
}

void convert_field(const CsvColumn& column, const Vocabulary& vocabulary, const std::string& field,
                   std::size_t field_index, Array& out) {
  auto set = [&]<class T>(T value) {
    bool several = column.width > 0 || !column.fields.empty();
    if (field_index == 0)
      prepare(out, {several ? Shape{static_cast<std::int64_t>(fields_of(column))} : Shape{},
                    dtype_of<T>});
    out.span<T>()[field_index] = value;
  };
  switch (column.type) {
    case CsvType::f32:
      return set(parse_number<float>(field));
    case CsvType::f64:
      return set(parse_number<double>(field));
    case CsvType::i32:
      return set(parse_number<std::int32_t>(field));
    case CsvType::i64:
      return set(parse_number<std::int64_t>(field));
    case CsvType::boolean:
      return set(parse_boolean(field));
    case CsvType::text:
      return vocabulary.empty() ? set_text(out, field) : set(vocabulary.index(field));
  }
}

}  // namespace belfry::data
