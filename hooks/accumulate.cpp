#include "belfry/hooks/accumulate.h"

namespace belfry::hooks {
namespace {

class Accumulate final : public Hook {
 public:
  explicit Accumulate(int parts) : parts_(parts) {}
  int micro_batches() const override { return parts_; }

 private:
  int parts_;
};

}  // namespace

std::shared_ptr<Hook> accumulate(int parts) {
  require(parts >= 1, "hooks::accumulate: there must be at least 1 part, got ", parts);
  return std::make_shared<Accumulate>(parts);
}

}  // namespace belfry::hooks
