#include "belfry/models/gan/dcgan.h"

#include <bit>

#include "belfry/framework/ops/check_range.h"
#include "belfry/models/gan/conditioning.h"

namespace belfry::gan {
namespace {

constexpr std::int64_t innermost = 4;  // rows and columns

Initializer small() { return normal(0, 0.02); }

void check(const DcganOptions& o) {
  require(o.size >= 2 * innermost && o.size <= 8192
              && std::has_single_bit(static_cast<std::uint64_t>(o.size)),
          "dcgan: the size must be a power of 2 from 8 to 8192, got ", o.size);
  require(o.channels >= 1 && o.filters >= 1 && o.noise >= 1,
          "dcgan: channels, filters and noise must be at least 1, got ", o.channels, ", ",
          o.filters, " and ", o.noise);
  require(o.classes >= 0, "dcgan: classes must be at least 0, got ", o.classes);
  require(o.logits >= 1, "dcgan: logits must be at least 1, got ", o.logits);
}

Tensor batch_normed(const Scope& s, Tensor x, const DcganOptions& o, Mode mode) {
  return batch_norm(s, x,
                    {.training = mode == Mode::train,
                     .momentum = 0.9,
                     .epsilon = 1e-5,
                     .sync = o.sync_batch_norm});
}

// x with the label of each row beside it, in one-hot form; x itself where there are no classes.
Tensor labelled(const Scope& s, Tensor x, const Batch& batch, const DcganOptions& o) {
  if (o.classes == 0) return x;
  Graph::PlacementGuard guard(s.graph(), s.placement());  // an error about a label says where
  Tensor label = check_range(batch[o.label], 0, o.classes - 1,
                             {.what = concat("dcgan: the feature `", o.label, "`"),
                              .remedy = concat("the option classes is ", o.classes)});
  return concat_one_hot(x, label, o.classes);
}

}  // namespace

Generator dcgan_generator(const DcganOptions& o) {
  check(o);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor z = random_normal(s / "noise", {batch.rows(), o.noise});
    return dcgan_images(s, labelled(s, z, batch, o), o, mode);
  };
}

Tensor dcgan_images(const Scope& s, Tensor z, const DcganOptions& o, Mode mode) {
  check(o);
  std::int64_t rows = z.size(0), size = innermost, filters = o.filters * (o.size / innermost / 2);
  Tensor x =
      dense(s / "noise", z,
            {.units = size * size * filters, .use_bias = false, .kernel_initializer = small()});
  x = reshape(x, {rows, size, size, filters});
  for (int layer = 1; size < o.size; ++layer, size *= 2) {
    x = relu(batch_normed(s / concat("norm", layer), x, o, mode));
    filters = 2 * size == o.size ? o.channels : filters / 2;
    x = conv2d_transpose(s / concat("up", layer), x,
                         {.filters = filters,
                          .kernel = 4,
                          .stride = 2,
                          .use_bias = false,
                          .kernel_initializer = small()});
  }
  return tanh(x);
}

Discriminator dcgan_discriminator(const DcganOptions& o) {
  check(o);
  return [o](Scope s, Tensor x, const Batch& batch, Mode mode) {
    x = labelled(s, x, batch, o);
    std::int64_t filters = o.filters;
    for (int layer = 1; x.size(1) > innermost; ++layer, filters *= 2) {
      x = conv2d(s / concat("down", layer), x,
                 {.filters = filters,
                  .kernel = 4,
                  .stride = 2,
                  .use_bias = false,
                  .kernel_initializer = small()});
      Scope norm = s / concat("norm", layer);
      if (layer > 1) x = o.layer_norm ? layer_norm(norm, x) : batch_normed(norm, x, o, mode);
      x = leaky_relu(x);
    }
    return dense(s / "logit", flatten(x),
                 {.units = o.logits, .use_bias = false, .kernel_initializer = small()});
  };
}

}  // namespace belfry::gan
