#include "belfry/models/gan/conditioning.h"

namespace belfry::gan {
namespace {

void require_rows(std::string_view what, const Tensor& x, const Tensor& code) {
  require(x.rank() >= 2 && code.rank() >= 1 && x.size(0) == code.size(0), what, ": x is ", x.type(),
          " and the code ", code.type(), "; expected a code for each row of x");
}

}  // namespace

Tensor concat_code(Tensor x, Tensor code) {
  require_rows("concat_code", x, code);
  require(code.rank() == 2, "concat_code: the code is ", code.type(), "; expected a matrix");
  std::vector<std::int64_t> sizes(x.rank(), 1);
  sizes.front() = x.size(0), sizes.back() = code.size(1);
  code = reshape(cast(code, x.dtype()), sizes);
  if (x.rank() > 2) code = broadcast_to(code, x.shape().with(x.rank() - 1, code.size(-1)));
  return concat({x, code}, x.rank() - 1);
}

// Rows of the identity, as gather() refuses a label for which one_hot() has zeros.
Tensor one_hot_codes(Tensor labels, std::int64_t classes) {
  Array identity = Array::zeros({classes, classes});
  for (std::int64_t i = 0; i < classes; ++i) identity.span<float>()[i * classes + i] = 1;
  return gather(constant(labels.graph(), identity), labels);
}

Tensor concat_one_hot(Tensor x, Tensor labels, std::int64_t classes) {
  return concat_code(x, one_hot_codes(labels, classes));
}

Tensor condition_on(const Scope& s, Tensor x, Tensor code) {
  require_rows("condition_on", x, code);
  Tensor mapped = dense(s, flatten(cast(code, x.dtype())), {.units = flatten(x).size(1)});
  return x + reshape(mapped, x.shape());
}

Tensor condition_on_one_hot(const Scope& s, Tensor x, Tensor labels,
                            const OneHotConditionOptions& o) {
  require(labels.rank() == 1, "condition_on_one_hot: the labels are ", labels.type(),
          "; expected whole numbers [n]");
  return condition_on(
      s, x, embedding(s / "embedding", labels, {.rows = o.classes, .width = o.embedding}));
}

}  // namespace belfry::gan
