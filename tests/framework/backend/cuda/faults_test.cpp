#include "belfry/framework/backend/cuda/faults.h"

#include <gtest/gtest.h>

#include "../../base/error_of.h"

namespace belfry::cuda {
namespace {

std::uint64_t written_by(const Faults::Reporter& reporter, std::uint64_t position) {
  std::uint64_t word = 0;
  FaultSite site = reporter.site({.inputs = {}, .outputs = {}, .fault = &word});
  *site.word = site.kernel | position;
  return word;
}

TEST(CudaFaults, AreToldByThePlaceAndWordsOfTheirKernel) {
  auto faults = std::make_shared<Faults>();
  auto reporter = faults->add("gather: index ", " is out of range");
  auto other = faults->add("div: element ", " is 0");
  faults->check(0);
  EXPECT_EQ(error_of([&] { faults->check(written_by(*other, 7)); }), "div: element 7 is 0");
  EXPECT_EQ(error_of([&] { faults->check(written_by(*reporter, (1ull << 40) - 1)); }),
            "gather: index 1099511627775 is out of range");
}

TEST(CudaFaults, ThoseOfAKernelThatIsGoneAreOurs) {
  auto faults = std::make_shared<Faults>();
  auto reporter = faults->add("gather: index ", " is out of range");
  std::uint64_t word = written_by(*reporter, 1);
  reporter.reset();
  EXPECT_NE(error_of([&] { faults->check(word); }).find("internal error"), std::string::npos);
}

}  // namespace
}  // namespace belfry::cuda
