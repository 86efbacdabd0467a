// Which models leave work to reference kernels when they train on a CPU.

#include <dnnl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "belfry/framework/compiler/reference_use.h"
#include "every_model.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The primitives that `make` makes, as oneDNN's verbose mode describes them:
/// "convolution,jit:avx2,...".
std::vector<std::string> onednn_primitives(const std::function<void()>& make) {
  dnnl_set_verbose(2);
  ::testing::internal::CaptureStdout();
  make();
  std::istringstream lines(::testing::internal::GetCapturedStdout());
  dnnl_set_verbose(0);
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) {
    std::size_t at = line.find(",cpu,");
    if (line.starts_with("onednn_verbose") && line.find(",create") < at)
      out.push_back(line.substr(at + 5));
  }
  return out;
}

class ReferenceKernels : public ::testing::TestWithParam<SmallModel> {};

TEST_P(ReferenceKernels, DoNextToNothingInATrainingStep) {
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    auto plan = training_plan(GetParam(), precision);
    double fraction = 0, flops = 0;
    for (const ReferenceUse& use : reference_use(*plan)) {
      if (use.what.ends_with(" f64")) continue;  // lengths of rows, bounds of columns: they are few
      fraction += use.fraction;
      flops += use.flops;
    }
    EXPECT_LT(fraction, 0.005) << describe_reference_use(*plan) << " in " << to_string(precision);
    EXPECT_LE(flops, 0.005 * plan->flops)
        << describe_reference_use(*plan) << " in " << to_string(precision);
  }
}

TEST_P(ReferenceKernels, AreNotOnednnsEither) {
  std::size_t seen = 0;
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    for (const std::string& primitive :
         onednn_primitives([&] { training_plan(GetParam(), precision); })) {
      EXPECT_THAT(primitive, Not(HasSubstr(",ref"))) << to_string(precision);
      ++seen;
    }
  }
  const std::string& name = GetParam().name;
  if (name != "baseline" && name != "linear") {  // the others have convolutions or products
    EXPECT_GT(seen, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceKernels, ::testing::ValuesIn(every_model()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry::models
