#include "belfry/data/augment/augmentation.h"

#include <array>

#include "belfry/data/augment/definition.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr std::array<std::string_view, 4> borders{"constant", "edge", "reflect", "symmetric"};
constexpr std::array<std::string_view, 4> interpolations{"nearest", "linear", "cubic", "area"};

template <class R>
void check_ends(const char* name, R range) {
  require(range.low <= range.high, name, " must be [low, high] with low at most high, got [",
          range.low, ", ", range.high, "]");
}

}  // namespace

std::span<const std::string_view> names_of(Border) { return borders; }
std::span<const std::string_view> names_of(Interpolation) { return interpolations; }
std::string to_string(Border b) { return std::string(borders[static_cast<std::size_t>(b)]); }
std::string to_string(Interpolation i) {
  return std::string(interpolations[static_cast<std::size_t>(i)]);
}

Augmentation::Augmentation(std::string name, std::string json, Apply apply)
    : content_(
        std::make_shared<Content>(Content{std::move(name), std::move(json), std::move(apply)})) {}

Features Augmentation::operator()(Features in, PhiloxStream& random) const {
  PhiloxStream own(PhiloxKey{random.next_u64()});
  content_->apply(in, own);
  return in;
}

void OptionFields::field(const char* name, Range& value) {
  std::vector<double> ends{value.low, value.high};
  field(name, ends);
  require(ends.size() == 2, name, " must be [low, high], got ", ends.size(), " numbers");
  value = {ends[0], ends[1]};
  check_order(name, value);
}

void OptionFields::field(const char* name, WholeRange& value) {
  std::vector<std::int64_t> ends{value.low, value.high};
  field(name, ends);
  require(ends.size() == 2, name, " must be [low, high], got ", ends.size(), " numbers");
  value = {ends[0], ends[1]};
  check_order(name, value);
}

std::size_t OptionFields::choice(const char* name, std::size_t index,
                                 std::span<const std::string_view> names) {
  require(index < names.size(), name, " has no value number ", index);
  std::string word(names[index]);
  field(name, word);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == word) return i;
  fail(name, " must be one of ", join(names, ", "), "; got `", word, "`");
}

void check_order(const char* name, Range range) { check_ends(name, range); }
void check_order(const char* name, WholeRange range) { check_ends(name, range); }

void with_name(const char* name, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    fail(name, ": ", error.what());
  }
}

}  // namespace belfry::data
