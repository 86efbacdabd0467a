#include "belfry/models/by_name/maker.h"
#include "belfry/models/tables/baseline.h"
#include "belfry/models/tables/columns.h"
#include "belfry/models/tables/linear.h"
#include "belfry/models/tables/wide_deep.h"

namespace belfry::models::by_name {

Makers tables() {
  return {{"baseline", maker<BaselineOptions>(baseline)},
          {"dnn", maker<DnnOptions>(dnn)},
          {"linear", maker<LinearOptions>(linear)},
          {"wide_deep", maker<WideDeepOptions>(wide_deep)}};
}

}  // namespace belfry::models::by_name
