#include "belfry/data/position.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr const char* changed = "; was the input pipeline or its data changed since it was saved?";

// Indices go on being counted, and no data come near half of what fits.
void check(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (name.ends_with(".index")) high = std::min(high, std::numeric_limits<std::int64_t>::max() / 2);
  require(value >= low && value <= high, "input: the saved position has ", name, " = ", value,
          ", expected ", low, " to ", high, changed);
}

}  // namespace

void Position::field(std::string_view name, std::int64_t& value, std::int64_t low,
                     std::int64_t high) {
  if (saving_) {
    fields_.push_back({name, value});
    return;
  }
  value = read(name);
  check(name, value, low, high);
}

void Position::field(std::string_view name, bool& value) {
  std::int64_t number = value ? 1 : 0;
  field(name, number, 0, 1);
  value = number == 1;
}

void Position::constant(std::string_view name, std::int64_t value) {
  std::int64_t number = value;
  field(name, number, std::numeric_limits<std::int64_t>::min());
  require(number == value, "input: the saved position has ", name, " = ", number,
          ", this pipeline has ", value, changed);
}

void Position::list(std::string_view name, std::vector<std::int64_t>& values, std::int64_t low,
                    std::int64_t high) {
  std::int64_t count = values.size();
  field(name, count);
  if (saving_) {
    for (std::int64_t value : values) fields_.push_back({{}, value});
    return;
  }
  values.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    std::string_view rest = std::string_view(saved_).substr(cursor_);
    require(rest.starts_with(','), "input: the saved position is damaged: ", name, " has ", i,
            " values of ", count);
    std::int64_t value = read_number(rest, 1);
    check(name, value, low, high);
    values.push_back(value);
  }
}

void Position::append(const Position& other) {
  ensure(saving_ && other.saving_, "position: append() while restoring");
  fields_.insert(fields_.end(), other.fields_.begin(), other.fields_.end());
}

void Position::finish() const {
  ensure(!saving_, "position: finish() while saving");
  std::string_view rest = std::string_view(saved_).substr(cursor_);
  rest.remove_prefix(rest.starts_with(' '));
  require(rest.empty(), "input: the saved position goes on with `", rest,
          "` where this pipeline ends", changed);
}

std::string Position::text() const {
  std::string out;
  for (const Field& f : fields_) {
    if (f.name.empty())
      out += concat(",", f.value);
    else
      out += concat(out.empty() ? "" : " ", f.name, "=", f.value);
  }
  return out;
}

std::int64_t Position::read(std::string_view name) {
  std::string_view rest = std::string_view(saved_).substr(cursor_);
  rest.remove_prefix(rest.starts_with(' '));
  std::size_t equals = rest.find('=');
  std::string_view found = rest.substr(0, equals);
  require(found == name, "input: the saved position has `", found, "` where this pipeline has `",
          name, "`", changed);
  return read_number(rest, equals == rest.npos ? rest.size() : equals + 1);
}

// Reads the number at `begin` of `rest`, which is the end of saved_, and goes behind it.
std::int64_t Position::read_number(std::string_view rest, std::size_t begin) {
  std::int64_t value = 0;
  const char* end = rest.data() + rest.size();
  auto parsed = std::from_chars(rest.data() + begin, end, value);
  bool whole =
      parsed.ec == std::errc() && (parsed.ptr == end || *parsed.ptr == ' ' || *parsed.ptr == ',');
  require(whole, "input: the saved position is damaged at `", rest, "`");
  cursor_ = parsed.ptr - saved_.data();
  return value;
}

}  // namespace belfry::data
