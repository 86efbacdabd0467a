#include <string>
#include <unordered_set>
#include <utility>

#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void append(const std::string& name, const Array& array, std::string& out) {
  auto bytes = array.raw_bytes();
  out += concat(name.size(), name, array.type(), '=');
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class Unique final : public Iterator {
 public:
  Unique(IteratorPtr source, std::vector<std::string> features, StageName stage)
      : source_(std::move(source)), features_(std::move(features)), stage_(std::move(stage)) {}

  bool next(Element& out) override {
    while (read(out))
      if (for_element(stage_, out, [&] { return seen_.insert(key_of(out.features)).second; }))
        return true;
    return false;
  }

  // A position holds only how many were taken: restore() reads them again to know what was seen.
  void position(Position& at) override {
    std::int64_t taken = taken_;
    at.field("unique.taken", taken);
    Element element;
    auto take = [&] {
      if (!read(element)) return false;
      seen_.insert(key_of(element.features));
      return true;
    };
    while (!at.saving() && taken_ < taken)
      require(unasked(take), "input: the saved position is element ", taken,
              " of data without duplicates that now end after ", taken_);
  }

 private:
  bool read(Element& out) {
    ++taken_;  // also if it fails
    if (source_->next(out)) return true;
    --taken_;
    return false;
  }

  std::string key_of(const Features& element) const {
    std::string key;
    for (const std::string& name : features_) append(name, element.at(name), key);
    if (features_.empty())
      for (const auto& [name, array] : element) append(name, array, key);
    return key;
  }

  IteratorPtr source_;
  std::vector<std::string> features_;
  StageName stage_;
  std::unordered_set<std::string> seen_;
  std::int64_t taken_ = 0;  // from the source
};

}  // namespace

Transform unique(std::vector<std::string> features) {
  return wrap(
      "unique",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Unique>(std::move(source), features, pass.name);
      },
      [](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = source.cardinality == 0 ? 0 : unknown, .whole = true};
      });
}

}  // namespace belfry::data
