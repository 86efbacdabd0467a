#include "belfry/models/require_multiple.h"

namespace belfry::models {

void require_multiple(const Scope& s, std::string_view model, const Tensor& x, std::int64_t unit,
                      std::string_view why) {
  at_scope(s.path(), [&] {
    for (int axis = 1; axis < x.rank() - 1; ++axis) {
      require(x.size(axis) > 0, model, ": the image is ", x.type(), ", which has no pixels");
      require(x.size(axis) % unit == 0, model, ": axis ", axis, " of ", x.type(),
              " is no multiple of ", unit, ", as ", why, "; pad or crop it");
    }
  });
}

}  // namespace belfry::models
