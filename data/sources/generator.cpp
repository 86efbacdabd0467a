#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Generator final : public Iterator {
 public:
  Generator(Generate generate, const Pass& pass)
      : generate_(std::move(generate)), stop_(pass.stop), epoch_(pass.epoch) {}

  bool next(Element& out) override {
    if (ended_ || stop_.stop_requested()) return false;
    out.index = taken_++;
    out.epoch = epoch_;
    out.file = nullptr;
    std::optional<Features> features =
        for_element("generator", out, [&] { return generate_(stop_); });
    if (!features) {
      ended_ = true;
      --taken_;
      return false;
    }
    for_element("generator", out, [&] { require_defined(*features); });
    out.features = std::move(*features);
    return true;
  }

  void position(Position& at) override {
    std::int64_t taken = taken_;
    at.field("generator.taken", taken);
    if (!at.saving()) read_again(*this, taken, "a generator");
  }

 private:
  Generate generate_;
  std::stop_token stop_;
  std::uint64_t epoch_;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

Dataset generator(Generate generate) {
  require(generate, "generator: the function is empty");
  return Dataset("generator", [generate = std::move(generate)](const Pass& pass) {
    return std::make_unique<Generator>(generate, pass);
  });
}

}  // namespace belfry::data
