// Which models leave work to reference kernels when they train on a CPU.

#include <dnnl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "belfry/framework/compiler/reference_use.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/train/model.h"
#include "belfry/framework/train/session.h"
#include "every_model.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The plan of a training step, which is not run.
std::shared_ptr<const Plan> training_plan(const SmallModel& small, Precision precision) {
  RunConfig config = quiet();
  config.precision = precision;
  Session session(make(small.name, small.options), config);
  Model model(session.model_fn(), Mode::train, signature_of(small.training_batch(5)), {},
              session.complete());
  return session.compile(model)->slots[0];
}

/// Of these a reference kernel is all that is wanted: rows are copied, added or looked at one after
/// the other; what is made of whole numbers, or is f64, are labels and places, of which there are
/// few.
bool suits_a_reference(const Node& node) {
  for (const OpDef* op :
       {&gather_op, &gather_grad_op, &embedding_lookup_op, &check_range_op, &assign_op})
    if (node.is(*op)) return true;
  bool floating = false, wide = false;
  for (const Tensor& t : node.inputs()) {
    floating |= is_floating(t.dtype());
    wide |= t.dtype() == DType::f64;
  }
  for (const TensorType& type : node.outputs()) wide |= type.dtype == DType::f64;
  return !floating || wide;
}

double share(double part, double all) { return all > 0 ? part / all : 0; }

/// What oneDNN's verbose mode says of the primitives that `make` makes: "convolution,jit:avx2,...".
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
    double all = 0;
    for (const Instruction& i : plan->instructions)
      if (i.kernel) all += static_cast<double>(operand_bytes(i));
    for (const Instruction& i : plan->instructions) {
      const Node& node = *i.node;
      if (!i.kernel || i.kernel->implementation() != "reference" || suits_a_reference(node))
        continue;
      double flops = node.op().flops ? node.op().flops(node) : 0;
      EXPECT_LE(share(static_cast<double>(operand_bytes(i)), all), 0.005)
          << to_string(node) << " in " << to_string(precision);
      EXPECT_LE(share(flops, plan->flops), 0.005)
          << to_string(node) << " in " << to_string(precision);
    }
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
