#include <limits>

#include "belfry/data/combine/zip.h"
#include "belfry/data/selection/selection.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// {name: i64 []}, as many as `source` has.
Dataset numbers(const std::string& name, std::int64_t start, const DatasetInfo& source) {
  Signature signature{{name, {Shape{}, DType::i64}}};
  auto read = [=](std::int64_t index, Features& out) {
    prepare(out, signature);
    auto number = static_cast<std::uint64_t>(start) + index;
    out.begin()->second.span<std::int64_t>()[0] = number;
  };
  if (source.random_access) return indexed(source.cardinality, read, "numbers");
  Dataset endless = indexed(std::numeric_limits<std::int64_t>::max(), read, "numbers");
  // Where the source is shared by file, each pipeline counts its own.
  auto make = [=](const Pass& pass) { return endless.iterate(pass); };
  return Dataset("numbers", {endless}, make, {.cardinality = infinite, .sharded = false});
}

}  // namespace

Transform enumerate(std::string name, std::int64_t start) {
  return [=](Dataset source) {
    Dataset second = numbers(name, start, source.info());
    return zip_as("enumerate", {{"", std::move(source)}, {"", std::move(second)}});
  };
}

}  // namespace belfry::data
