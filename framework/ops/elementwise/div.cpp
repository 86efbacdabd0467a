#include <algorithm>

#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

std::vector<Tensor> gradient(const GradContext& c) {
  Tensor a = c.input(0), b = c.input(1);
  return {sum_to(c.dy() / b, a.shape()), sum_to(-c.dy() * c.output() / b, b.shape())};
}

// A whole number over 0 has no value, and the processor would trap.
void reference(const KernelContext& c) {
  const ArrayView& divisor = c.input(1);
  dispatch(divisor.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>) {
      if (c.output().elements() == 0) return;
      const T* begin = divisor.as<const T>();
      const T* end = begin + divisor.elements();
      const T* zero = std::find(begin, end, T(0));
      require(zero == end, c.op, ": division by zero: element ", zero - begin, " of the divisor ",
              divisor.type, " is 0");
    }
  });
  elementwise_reference<functor::Div>(c);
}

constexpr OpDef make() {
  OpDef op = elementwise_op<functor::Div>(gradient);
  op.reference = reference;
  return op;
}

}  // namespace

const OpDef functor::Div::op = make();

Tensor div(Tensor a, Tensor b) { return apply1(functor::Div::op, {a, b}); }

}  // namespace belfry
