#include "belfry/models/images/resnest.h"

#include <algorithm>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/classifier.h"
#include "belfry/models/images/conv_norm.h"
#include "belfry/models/require_multiple.h"

namespace belfry::models {
namespace {

// Padding counts as zeros in the averages, as in the authors' program.
Tensor avg_pool_3x3(Tensor x) {
  x = pad(x, {.before = {0, 1, 1, 0}, .after = {0, 1, 1, 0}});
  return avg_pool(x, {.window = 3, .stride = 2});
}

class Resnest {
 public:
  Resnest(const ResnestOptions& options, Mode mode)
      : o_(options), norm_(norm_options(options, mode)), conv_(norm_) {}

  Tensor stem(const Scope& s, Tensor x) const {
    x = relu(conv_(s / "first", x, {.filters = o_.filters / 2, .stride = 2}));
    x = relu(conv_(s / "second", x, {.filters = o_.filters / 2}));
    return relu(conv_(s / "third", x, {.filters = o_.filters}));
  }

  Tensor block(const Scope& s, Tensor x, std::int64_t filters, bool halve) const {
    Tensor y = relu(conv_(s / "first", x, {.filters = filters, .kernel = 1}));
    y = relu(
        conv_(s / "second", y, {.filters = filters * o_.radix, .groups = o_.groups * o_.radix}));
    y = split_attention(s / "attention", y,
                        {.radix = o_.radix, .groups = o_.groups, .norm = norm_});
    if (halve) y = avg_pool_3x3(y);
    y = conv_(s / "third", y, {.filters = 4 * filters, .kernel = 1});
    return relu(y + shortcut(s, x, y, halve));
  }

 private:
  Tensor shortcut(const Scope& s, Tensor x, const Tensor& y, bool halve) const {
    if (y.shape() == x.shape()) return x;
    if (halve) x = avg_pool(x);
    return conv_(s / "shortcut", x, {.filters = y.size(-1), .kernel = 1});
  }

  const ResnestOptions& o_;
  BatchNormLayerOptions norm_;
  ConvNorm conv_;
};

}  // namespace

void check(std::string_view function, const ResnestOptions& o) {
  require(!o.blocks.empty() && std::ranges::min(o.blocks) >= 1, function,
          ": every stage must have a block, got [", join(o.blocks, ", "), "]");
  require(o.blocks.size() <= 16, function, ": there are ", o.blocks.size(),
          " stages; there may be 16");
  require(o.radix >= 2 && o.groups >= 1, function, ": a radix of ", o.radix, " with ", o.groups,
          " groups; expected at least 2 and 1");
  require(o.filters >= 2 && o.filters % 2 == 0 && o.filters % o.radix == 0
              && o.filters / o.radix % o.groups == 0,
          function, ": ", o.filters, " filters; expected an even number and a multiple of ",
          o.radix, " x ", o.groups, ", radix times groups");
  require_fraction(function, "batch_norm_momentum", o.batch_norm_momentum);
}

Tensor split_attention(const Scope& s, Tensor x, const SplitAttentionOptions& o) {
  std::int64_t n = x.size(0), c = x.size(-1) / o.radix;
  std::vector<Tensor> splits = split(x, o.radix, -1);
  Tensor sum = splits[0];
  for (std::size_t r = 1; r < splits.size(); ++r) sum = sum + splits[r];
  Tensor a = reshape(global_avg_pool(sum), {n, 1, 1, c});
  a = conv2d(s / "first", a,
             {.filters = std::max<std::int64_t>(c * o.radix / 4, 32),
              .kernel = 1,
              .groups = o.groups,
              .kernel_initializer = he_normal()});
  a = relu(batch_norm(s / "norm", a, o.norm));
  a = conv2d(s / "second", a, {.filters = c * o.radix, .kernel = 1, .groups = o.groups});
  // Channels of the convolution are group by group, those of the image split by split.
  a = softmax(reshape(a, {n, o.groups, o.radix, c / o.groups}), 2);
  a = reshape(transpose(a, {0, 2, 1, 3}), {n, 1, 1, o.radix * c});
  std::vector<Tensor> weights = split(a, o.radix, -1);
  Tensor y = splits[0] * weights[0];
  for (std::size_t r = 1; r < splits.size(); ++r) y = y + splits[r] * weights[r];
  return y;
}

std::vector<Tensor> resnest_features(const Scope& s, Tensor image, const ResnestOptions& o,
                                     Mode mode) {
  check("resnest_features", o);
  at_scope(s.path(), [&] {
    require(image.rank() == 4, "resnest: expected [n, h, w, c], got ", image.type());
  });
  require_multiple(s, "resnest", image, std::int64_t{2} << o.blocks.size(),
                   concat(o.blocks.size() + 1, " halvings need"));
  Resnest net(o, mode);
  std::vector<Tensor> features{net.stem(s / "stem", image)};
  Tensor x = max_pool(features[0],
                      {.window = 3, .stride = 2, .padding = Padding::explicit_amounts(1, 1, 1, 1)});
  int number = 0;
  std::int64_t filters = o.filters;
  for (std::size_t stage = 0; stage < o.blocks.size(); ++stage, filters *= 2) {
    for (std::int64_t i = 0; i < o.blocks[stage]; ++i)
      x = net.block(s / concat("block", ++number), x, filters, stage > 0 && i == 0);
    features.push_back(x);
  }
  return features;
}

ModelFn resnest50(ResnestOptions o) {
  check("resnest50", o);
  require_at_least(2, "resnest50", "classes", o.classes);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor x = resnest_features(s, batch["image"], o, mode).back();
    Tensor logits = dense(s / "head", global_avg_pool(x), {.units = o.classes});
    return classifier_spec(logits, batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
