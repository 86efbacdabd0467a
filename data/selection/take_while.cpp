#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Transform take_while(std::function<bool(const Features&)> predicate) {
  struct TakeWhile final : Iterator {
    TakeWhile(IteratorPtr s, std::function<bool(const Features&)> p, StageName n)
        : source(std::move(s)), predicate(std::move(p)), stage(std::move(n)) {}
    bool next(Element& out) override {
      if (ended || !source->next(out)) return false;
      ended = !for_element(stage, out, [&] { return predicate(out.features); });
      return !ended;
    }
    void position(Position& at) override {
      at.field("take_while.ended", ended);
      source->position(at);
    }
    IteratorPtr source;
    std::function<bool(const Features&)> predicate;
    StageName stage;
    bool ended = false;
  };
  require(predicate != nullptr, "take_while: the function is empty");
  return wrap(
      "take_while",
      [predicate = std::move(predicate)](IteratorPtr source, const Pass& pass) {
        return std::make_unique<TakeWhile>(std::move(source), predicate, pass.name);
      },
      [](const DatasetInfo& source) {
        return DatasetInfo{.cardinality = source.cardinality == 0 ? 0 : unknown, .whole = true};
      });
}

}  // namespace belfry::data
