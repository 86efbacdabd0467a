#include "belfry/models/by_name/reader.h"
#include "belfry/models/tables/baseline.h"
#include "belfry/models/tables/columns.h"
#include "belfry/models/tables/linear.h"
#include "belfry/models/tables/wide_deep.h"

namespace belfry::models::by_name {

void fields(NumericColumn& o, Reader& f) {
  f("feature", o.feature)("mean", o.mean)("deviation", o.deviation);
}
void fields(CategoricalColumn& o, Reader& f) {
  f("feature", o.feature)("categories", o.categories)("hashed", o.hashed)(
      "boundaries", o.boundaries)("width", o.width);
}
void fields(CrossedColumn& o, Reader& f) {
  f("features", o.features)("buckets", o.buckets)("width", o.width);
}
void fields(Columns& o, Reader& f) {
  f("numeric", o.numeric)("categorical", o.categorical)("crossed", o.crossed);
}
void fields(BaselineOptions& o, Reader& f) { f("head", o.head)("optimizer", o.optimizer); }
void fields(DnnOptions& o, Reader& f) {
  f("columns", o.columns)("hidden", o.hidden)("dropout", o.dropout)("head", o.head)("optimizer",
                                                                                    o.optimizer);
}
void fields(LinearOptions& o, Reader& f) {
  f("columns", o.columns)("head", o.head)("optimizer", o.optimizer);
}
void fields(WideDeepOptions& o, Reader& f) {
  f("wide", o.wide)("deep", o.deep)("hidden", o.hidden)("dropout", o.dropout)("head", o.head)(
      "wide_optimizer", o.wide_optimizer)("deep_optimizer", o.deep_optimizer);
}

Makers tables() {
  return {{"baseline", maker<BaselineOptions>(baseline)},
          {"dnn", maker<DnnOptions>(dnn)},
          {"linear", maker<LinearOptions>(linear)},
          {"wide_deep", maker<WideDeepOptions>(wide_deep)}};
}

}  // namespace belfry::models::by_name
