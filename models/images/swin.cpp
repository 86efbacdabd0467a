#include "belfry/models/images/swin.h"

#include <algorithm>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"
#include "belfry/models/images/window_attention.h"
#include "belfry/models/require_multiple.h"

namespace belfry::models {
namespace {

Initializer small() { return truncated_normal(0, 0.02); }

Tensor block(const Scope& s, Tensor x, const WindowAttentionOptions& attention, std::int64_t mlp) {
  x = x + window_attention(s / "attention", layer_norm(s / "norm1", x), attention);
  Tensor y = dense(s / "hidden", layer_norm(s / "norm2", x),
                   {.units = mlp * x.size(-1), .kernel_initializer = small()});
  return x + dense(s / "out", gelu(y), {.units = x.size(-1), .kernel_initializer = small()});
}

// The side of a window in a stage, in the stage's pixels.
std::int64_t window_of(std::int64_t h, std::int64_t w, std::int64_t window) {
  return std::min({h, w, window});
}

bool fits(std::int64_t h, std::int64_t w, std::size_t stages, std::int64_t window) {
  for (std::size_t stage = 0; stage < stages; ++stage, h /= 2, w /= 2) {
    std::int64_t own = window_of(h, w, window);
    if (h % own != 0 || w % own != 0) return false;
  }
  return true;
}

// The nearest to `window`; windows of 1 fit all.
std::int64_t window_that_fits(std::int64_t h, std::int64_t w, std::size_t stages,
                              std::int64_t window) {
  for (std::int64_t distance = 1; distance < window; ++distance)
    for (std::int64_t other : {window + distance, window - distance})
      if (fits(h, w, stages, other)) return other;
  return 1;
}

void require_sides(const Scope& s, const Tensor& image, const SwinOptions& o) {
  std::size_t stages = o.blocks.size();
  std::int64_t unit = o.patch << (stages - 1), sure = unit * o.window;
  require_multiple(s, "swin", image, unit,
                   concat("patches of ", o.patch, " need in ", stages, " stages"));
  std::int64_t h = image.size(1), w = image.size(2), rows = h / o.patch, columns = w / o.patch;
  auto times = [&](std::int64_t a, std::int64_t b) {
    return concat(std::max<std::int64_t>(a, 1) * sure, " x ", std::max<std::int64_t>(b, 1) * sure);
  };
  std::string smaller = times(h / sure, w / sure);
  std::string larger = times((h + sure - 1) / sure, (w + sure - 1) / sure);
  at_scope(s.path(), [&] {
    require(fits(rows, columns, stages, o.window), "swin: windows of ", o.window, " do not fit ",
            image.type(), "; sides that are multiples of ", sure, " fit, as ", smaller,
            smaller == larger ? "" : " or " + larger, ", and so do windows of ",
            window_that_fits(rows, columns, stages, o.window), " for this size");
  });
}

}  // namespace

void check(std::string_view function, const SwinOptions& o) {
  require(!o.blocks.empty() && std::ranges::min(o.blocks) >= 1, function,
          ": every stage must have a block, got [", join(o.blocks, ", "), "]");
  require(o.blocks.size() <= 16, function, ": there are ", o.blocks.size(),
          " stages; there may be 16");
  require(o.heads.size() == o.blocks.size(), function, ": there are ", o.blocks.size(),
          " stages, but heads of ", o.heads.size());
  require_sizes(function, "heads", o.heads);
  require(std::min({o.channels, o.window, o.patch, o.mlp}) >= 1, function, ": ", o.channels,
          " channels, windows of ", o.window, ", patches of ", o.patch, " and an mlp of ", o.mlp,
          "; each must be at least 1");
}

Tensor swin_blocks(const Scope& s, Tensor x, std::int64_t blocks, std::int64_t heads,
                   const SwinOptions& o) {
  std::int64_t window = window_of(x.size(1), x.size(2), o.window);
  std::int64_t shift = std::min(x.size(1), x.size(2)) > window ? window / 2 : 0;
  for (std::int64_t i = 0; i < blocks; ++i)
    x = block(s / concat("block", i + 1), x,
              {.heads = heads, .window = window, .shift = i % 2 == 1 ? shift : 0}, o.mlp);
  return x;
}

Tensor merge_patches(const Scope& s, Tensor x) {
  require_multiple(s, "swin", x, 2, "merging 2 x 2 pixels needs");
  std::int64_t n = x.size(0), h = x.size(1) / 2, w = x.size(2) / 2, c = x.size(3);
  x = transpose(reshape(x, {n, h, 2, w, 2, c}), {0, 1, 3, 4, 2, 5});
  x = layer_norm(s / "norm", reshape(x, {n, h, w, 4 * c}));
  return dense(s / "reduce", x, {.units = 2 * c, .use_bias = false, .kernel_initializer = small()});
}

Tensor expand_patches(const Scope& s, Tensor x, std::int64_t factor, std::int64_t channels) {
  std::int64_t n = x.size(0), h = x.size(1), w = x.size(2);
  x = dense(
      s / "expand", x,
      {.units = factor * factor * channels, .use_bias = false, .kernel_initializer = small()});
  x = transpose(reshape(x, {n, h, w, factor, factor, channels}), {0, 1, 3, 2, 4, 5});
  return layer_norm(s / "norm", reshape(x, {n, h * factor, w * factor, channels}));
}

std::vector<Tensor> swin_features(const Scope& s, Tensor image, const SwinOptions& o) {
  check("swin_features", o);
  at_scope(s.path(),
           [&] { require(image.rank() == 4, "swin: expected [n, h, w, c], got ", image.type()); });
  require_sides(s, image, o);
  Tensor x =
      conv2d(s / "patches", image, {.filters = o.channels, .kernel = o.patch, .stride = o.patch});
  x = layer_norm(s / "patches", x);
  std::vector<Tensor> features;
  for (std::size_t stage = 0; stage < o.blocks.size(); ++stage) {
    Scope here = s / concat("stage", stage + 1);
    if (stage > 0) x = merge_patches(here / "merge", x);
    x = swin_blocks(here, x, o.blocks[stage], o.heads[stage], o);
    features.push_back(x);
  }
  return features;
}

ModelFn swin_tiny(SwinOptions o) {
  check("swin_tiny", o);
  require_at_least(2, "swin_tiny", "classes", o.classes);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = layer_norm(s / "norm", swin_features(s, batch["image"], o).back());
    Tensor logits =
        dense(s / "head", global_avg_pool(x), {.units = o.classes, .kernel_initializer = small()});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
