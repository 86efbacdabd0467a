#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Transform filter(std::function<bool(const Features&)> keep) {
  struct Filter final : Iterator {
    Filter(IteratorPtr s, std::function<bool(const Features&)> k, StageName n)
        : source(std::move(s)), keep(std::move(k)), stage(std::move(n)) {}
    bool next(Element& out) override {
      while (source->next(out))
        if (for_element(stage, out, [&] { return keep(out.features); })) return true;
      return false;
    }
    void position(Position& at) override { source->position(at); }
    IteratorPtr source;
    std::function<bool(const Features&)> keep;
    StageName stage;
  };
  require(keep != nullptr, "filter: the function is empty");
  return wrap("filter", [keep = std::move(keep)](IteratorPtr source, const Pass& pass) {
    return std::make_unique<Filter>(std::move(source), keep, pass.name);
  });
}

}  // namespace belfry::data
