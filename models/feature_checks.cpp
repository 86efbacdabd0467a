#include "belfry/models/feature_checks.h"

#include <array>

namespace belfry::models {
namespace {

Placement under(Placement place, std::string_view feature) {
  place.scope += concat(place.scope.empty() ? "" : "/", feature);
  return place;
}

}  // namespace

Tensor checked_beside(const Tensor& compared, std::string_view feature, Tensor x, double lowest,
                      double highest, const CheckRangeOptions& options) {
  Graph& graph = compared.graph();
  Graph::PlacementGuard guard(graph, under(graph.default_placement(std::array{compared}), feature));
  return check_range(x, lowest, highest, options);
}

Tensor checked_lengths(const Scope& s, const Batch& batch, const CheckedLengthsOptions& o) {
  Tensor x = batch[o.of], lengths = batch[o.lengths];
  std::string what = concat(o.model, ": the feature `", o.lengths, "`");
  at_scope(s.path(), [&] {
    require(lengths.shape() == Shape{x.size(0)}, what, " must be [", x.size(0),
            "], a number for each row, got ", lengths.type());
  });
  Graph::PlacementGuard guard(s.graph(), under(s.placement(), o.lengths));
  return check_range(lengths, 0, x.size(1),
                     {.what = what,
                      .remedy = concat("`", o.of, "` is ", x.type(),
                                       ", and padded_batch() adds its lengths by the option "
                                       ".lengths")});
}

}  // namespace belfry::models
