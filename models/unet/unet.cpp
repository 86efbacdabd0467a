#include "belfry/models/unet/unet.h"

#include <optional>
#include <vector>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/images/conv_norm.h"
#include "belfry/models/mask_spec.h"
#include "belfry/models/require_multiple.h"
#include "belfry/models/unet/unet_blocks.h"

namespace belfry::models {
namespace {

Tensor logits(const Scope& s, std::string_view name, Tensor x, const UnetOptions& o, Mode mode) {
  require_multiple(s, name, x, std::int64_t{1} << o.depth, concat(o.depth, " halvings need"));
  UnetBlocks blocks(o.batch_norm ? std::optional(norm_options(o, mode)) : std::nullopt);
  Scope up = o.slot_of_way_up > 0 ? s.on(o.slot_of_way_up) : s;
  std::vector<Tensor> levels;
  std::int64_t filters = o.filters;
  for (int level = 1; level <= o.depth; ++level, filters *= 2) {
    levels.push_back(blocks.twice(s / concat("down", level), x, filters));
    x = blocks.down(levels.back());
  }
  x = blocks.twice(s / "bottom", x, filters);
  for (int level = o.depth; level >= 1; --level, levels.pop_back())
    x = blocks.up(up / concat("up", level), x, levels.back(), filters /= 2);
  return blocks.head(up / "head", x, o.classes);
}

ModelFn make(std::string_view name, const UnetOptions& o, int axes) {
  require(o.depth >= 1 && o.depth <= 16 && o.filters >= 1, name, ": a depth of ", o.depth, " with ",
          o.filters, " filters; expected 1 to 16, and at least 1");
  require_fraction(name, "batch_norm_momentum", o.batch_norm_momentum);
  require_at_least(0, name, "slot_of_way_up", o.slot_of_way_up);
  MaskOptions masks = mask_options(o);
  check(name, masks);
  return [=](Scope s, const Batch& batch, Mode mode) {
    Tensor x = batch["image"];
    at_scope(s.path(), [&] {
      require(x.rank() == axes + 2, name, ": expected [n, ", axes, " axes, c], got ", x.type());
    });
    return mask_spec(s, logits(s, name, x, o, mode), batch, mode, masks);
  };
}

}  // namespace

ModelFn unet(UnetOptions options) { return make("unet", options, 2); }
ModelFn unet3d(UnetOptions options) { return make("unet3d", options, 3); }

}  // namespace belfry::models
