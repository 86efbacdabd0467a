#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/number.h"

namespace belfry {

Tensor operator+(Tensor a, double b) { return add(a, number(a, b, "add")); }
Tensor operator-(Tensor a, double b) { return sub(a, number(a, b, "sub")); }
Tensor operator*(Tensor a, double b) { return mul(a, number(a, b, "mul")); }
Tensor operator/(Tensor a, double b) { return div(a, number(a, b, "div")); }
Tensor operator+(double a, Tensor b) { return add(number(b, a, "add"), b); }
Tensor operator-(double a, Tensor b) { return sub(number(b, a, "sub"), b); }
Tensor operator*(double a, Tensor b) { return mul(number(b, a, "mul"), b); }
Tensor operator/(double a, Tensor b) { return div(number(b, a, "div"), b); }

}  // namespace belfry
