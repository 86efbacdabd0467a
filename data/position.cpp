#include "belfry/data/position.h"

#include <charconv>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr const char* changed = "; was the input pipeline or its data changed since it was saved?";

}  // namespace

void Position::field(std::string_view name, std::int64_t& value, std::int64_t low,
                     std::int64_t high) {
  if (saving_) {
    fields_.push_back({name, value});
    return;
  }
  value = read(name);
  require(value >= low && value <= high, "input: the saved position has ", name, " = ", value,
          ", expected ", low, " to ", high, changed);
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

void Position::append(const Position& other) {
  ensure(saving_ && other.saving_, "position: append() while restoring");
  fields_.insert(fields_.end(), other.fields_.begin(), other.fields_.end());
}

void Position::finish() const {
  ensure(!saving_, "position: finish() while saving");
  require(cursor_ == saved_.size(), "input: the saved position goes on with `",
          std::string_view(saved_).substr(cursor_), "` where this pipeline ends", changed);
}

std::string Position::text() const {
  std::string out;
  for (const Field& f : fields_) out += concat(out.empty() ? "" : " ", f.name, "=", f.value);
  return out;
}

std::int64_t Position::read(std::string_view name) {
  std::string_view rest = std::string_view(saved_).substr(cursor_);
  std::size_t equals = rest.find('=');
  std::string_view found = rest.substr(0, equals);
  require(found == name, "input: the saved position has `", found, "` where this pipeline has `",
          name, "`", changed);
  std::int64_t value = 0;
  const char* end = rest.data() + rest.size();
  auto parsed = std::from_chars(rest.data() + equals + (equals < rest.size()), end, value);
  bool whole = parsed.ec == std::errc() && (parsed.ptr == end || *parsed.ptr == ' ');
  require(equals < rest.size() && whole, "input: the saved position is damaged at `", rest, "`");
  cursor_ = static_cast<std::size_t>(parsed.ptr - saved_.data()) + (parsed.ptr != end);
  return value;
}

}  // namespace belfry::data
