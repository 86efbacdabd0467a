#include <utility>

#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Scan final : public Iterator {
 public:
  Scan(IteratorPtr source, Features initial, ScanFunction function, StageName stage)
      : source_(std::move(source)),
        state_(std::move(initial)),
        function_(std::move(function)),
        stage_(std::move(stage)) {}

  bool next(Element& out) override {
    ++taken_;  // also if it fails
    if (!source_->next(out)) {
      --taken_;
      return false;
    }
    for_element(stage_, out, [&] {
      auto [state, features] = function_(state_, std::move(out.features));
      require_defined(state);
      require_defined(features);
      state_ = std::move(state);
      out.features = std::move(features);
      // Whoever receives the element may overwrite it, and the state must stay.
      for (auto& [name, array] : out.features)
        if (!array.exclusive()) array = array.clone();
    });
    return true;
  }

  // The state is whatever the function makes of all elements before.
  void position(Position& at) override {
    std::int64_t taken = taken_;
    at.field("scan.taken", taken);
    if (!at.saving()) read_again(*this, taken, "scanned data");
  }

 private:
  IteratorPtr source_;
  Features state_;
  ScanFunction function_;
  StageName stage_;
  std::int64_t taken_ = 0;
};

}  // namespace

Transform scan(Features initial, ScanFunction function) {
  require(function != nullptr, "scan: the function is empty");
  require_defined(initial);
  return wrap(
      "scan",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Scan>(std::move(source), initial, function, pass.name);
      },
      [](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = source.cardinality, .whole = true};
      });
}

}  // namespace belfry::data
