#include "belfry/models/baseline.h"
#include "belfry/models/by_name/reader.h"
#include "belfry/models/columns.h"
#include "belfry/models/linear.h"
#include "belfry/models/wide_deep.h"

namespace belfry::models::by_name {

Makers tables() {
  return {{"baseline", maker<BaselineOptions>(baseline)},
          {"dnn", maker<DnnOptions>(dnn)},
          {"linear", maker<LinearOptions>(linear)},
          {"wide_deep", maker<WideDeepOptions>(wide_deep)}};
}

}  // namespace belfry::models::by_name
