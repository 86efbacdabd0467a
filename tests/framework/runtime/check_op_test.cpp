// check_op finds what is wrong with an op, and nothing with one that is right.

#include "belfry/framework/runtime/check_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The op cubed, x^3, with one fault.
enum class Fault { none, gradient, reference, random };

template <Fault fault>
void reference(const KernelContext& c) {
  static int calls = 0;
  ++calls;
  auto fill = [&](auto* y, const auto* x) {
    using T = std::remove_reference_t<decltype(*y)>;
    for (std::int64_t i = 0; i < c.output().elements(); ++i) {
      y[i] = x[i] * x[i] * x[i];
      if (fault == Fault::reference && std::is_same_v<T, float> && i == 2) y[i] += T(0.01);
      if (fault == Fault::random) y[i] *= 1 + T(1e-6) * T(calls);
    }
  };
  if (c.input(0).dtype() == DType::f64)
    fill(c.output().as<double>(), c.input(0).as<double>());
  else
    fill(c.output().as<float>(), c.input(0).as<float>());
}

template <Fault fault>
std::vector<Tensor> gradient(const GradContext& c) {
  return {c.dy() * square(c.input()) * (fault == Fault::gradient ? 3.01 : 3.0)};
}

template <Fault fault>
const OpDef cubed_op{.name = "cubed",
                     .shape = same_shape,
                     .gradient = gradient<fault>,
                     .reference = reference<fault>};

template <Fault fault>
std::string check() {
  return check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                     return {apply1(cubed_op<fault>, {in[0]})};
                   },
                   .inputs = {Array::of({0.5f, -1.f, 2.f, 1.5f})}});
}

TEST(CheckOp, FindsNothingWrongWithARightOp) { EXPECT_THAT(check<Fault::none>(), IsEmpty()); }

TEST(CheckOp, RemembersTheOpsOfOutputsAndGradients) {
  check<Fault::none>();
  EXPECT_TRUE(checked_ops().contains("cubed"));
  EXPECT_TRUE(checked_ops().contains("mul"));  // in its gradient
  EXPECT_FALSE(checked_ops().contains("tanh"));
}

TEST(CheckOp, FindsAWrongGradient) {
  std::string found = check<Fault::gradient>();
  EXPECT_THAT(found, HasSubstr("gradient of input 0 against differences: element "));
  EXPECT_THAT(found, ::testing::Not(HasSubstr("output")));
}

TEST(CheckOp, FindsAReferenceThatIsWrongInOneType) {
  std::string found = check<Fault::reference>();
  EXPECT_THAT(found, HasSubstr("reference f32 output 0: element 2 of [4] is 8.01"));
  EXPECT_THAT(found, HasSubstr("expected 8, allowed difference"));
}

TEST(CheckOp, FindsResultsThatChange) {
  EXPECT_THAT(check<Fault::random>(), HasSubstr("output on cpu:0 0: two runs give different bits"));
}

TEST(CheckOp, FindsAGradientThatIsMissing) {
  std::string found =
      check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                  return {in[0] * stop_gradient(in[1])};
                },
                .inputs = {Array::of({1.f, 2.f}), Array::of({3.f, 4.f})}});
  EXPECT_THAT(found, HasSubstr("gradient of input 1 against differences: element 0 of [2] is 0"));
  EXPECT_THAT(
      check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                  return {in[0] * stop_gradient(in[1])};
                },
                .inputs = {Array::of({1.f, 2.f}), Array::of({3.f, 4.f})},
                .constant = {1}}),
      IsEmpty());
}

TEST(CheckOp, AWrongShapeRuleDoesNotComeToNumbers) {
  static const OpDef wrong{.name = "wrong",
                           .shape = [](const ShapeContext& c) -> std::vector<TensorType> {
                             require(c.inputs[0].shape.rank() == 2, "wrong: not a matrix");
                             return {c.inputs[0]};
                           },
                           .gradient = no_gradient,
                           .reference = reference<Fault::none>};
  EXPECT_THROW(
      check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                  return {apply1(wrong, {in[0]})};
                },
                .inputs = {Array::of({1.f})}}),
      Error);
}

}  // namespace
}  // namespace belfry
