#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Dataset range(std::int64_t count) {
  require(count >= 0, "range: count must be at least 0, got ", count);
  Signature signature{{"value", {Shape{}, DType::i64}}};
  auto read = [=](std::int64_t index, Features& out) {
    prepare(out, signature);
    out.begin()->second.span<std::int64_t>()[0] = index;
  };
  return indexed(count, read, "range");
}

}  // namespace belfry::data
