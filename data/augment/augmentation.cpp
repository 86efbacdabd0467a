#include "belfry/data/augment/augmentation.h"

#include "belfry/data/augment/definition.h"
#include "belfry/data/formats/opencv_call.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

template <class R>
void check_ends(std::string_view name, R range) {
  require(range.low <= range.high, name, " must be [low, high] with low at most high, got [",
          range.low, ", ", range.high, "]");
}

}  // namespace

Augmentation::Augmentation(std::string name, std::string json, Apply apply)
    : content_(
        std::make_shared<Content>(Content{std::move(name), std::move(json), std::move(apply)})) {}

Features Augmentation::operator()(Features in, PhiloxStream& random) const {
  PhiloxStream own(PhiloxKey{random.next_u64()});
  content_->apply(in, own);
  return in;
}

Features Augmentation::apply(Features in) const {
  PhiloxStream same(philox_key(0, ""));
  return (*this)(std::move(in), same);
}

void check_order(std::string_view name, Range range) { check_ends(name, range); }
void check_order(std::string_view name, WholeRange range) { check_ends(name, range); }

void with_name(const char* name, const std::function<void()>& body) {
  try {
    opencv_call(body);
  } catch (const std::exception& error) {
    if (is_shortage()) throw;  // nothing against the options or the element
    fail(name, ": ", error.what());
  }
}

}  // namespace belfry::data
