#include "belfry/models/by_name/reader.h"
#include "belfry/models/images/lenet.h"
#include "belfry/models/images/mobilenet.h"
#include "belfry/models/images/resnest.h"
#include "belfry/models/images/resnet.h"
#include "belfry/models/images/swin.h"
#include "belfry/models/images/vgg.h"
#include "belfry/models/tables/mlp.h"

namespace belfry::models::by_name {

void fields(LenetOptions& o, Reader& f) {
  f("classes", o.classes)("hidden", o.hidden)("dropout", o.dropout)("optimizer", o.optimizer);
}
void fields(MlpOptions& o, Reader& f) {
  f("feature", o.feature)("hidden", o.hidden)("classes", o.classes)("dropout", o.dropout)(
      "optimizer", o.optimizer)("head", o.head);
}
void fields(MobilenetOptions& o, Reader& f) {
  f("classes", o.classes)("width", o.width)("batch_norm_momentum", o.batch_norm_momentum)(
      "sync_batch_norm", o.sync_batch_norm)("dropout", o.dropout)("optimizer", o.optimizer);
}
void fields(ResnestOptions& o, Reader& f) {
  f("classes", o.classes)("blocks", o.blocks)("filters", o.filters)("radix", o.radix)(
      "groups", o.groups)("batch_norm_momentum", o.batch_norm_momentum)(
      "sync_batch_norm", o.sync_batch_norm)("optimizer", o.optimizer);
}
void fields(ResnetOptions& o, Reader& f) {
  f("classes", o.classes)("stem", o.stem,
                          {{"by_size", ResnetStem::by_size},
                           {"small", ResnetStem::small},
                           {"large", ResnetStem::large}})(
      "batch_norm_momentum", o.batch_norm_momentum)("sync_batch_norm", o.sync_batch_norm)(
      "optimizer", o.optimizer);
}
void fields(SwinOptions& o, Reader& f) {
  f("classes", o.classes)("channels", o.channels)("blocks", o.blocks)("heads", o.heads)(
      "window", o.window)("patch", o.patch)("mlp", o.mlp)("optimizer", o.optimizer);
}
void fields(VggOptions& o, Reader& f) {
  f("classes", o.classes)("batch_norm", o.batch_norm)("batch_norm_momentum", o.batch_norm_momentum)(
      "sync_batch_norm", o.sync_batch_norm)("hidden", o.hidden)("dropout", o.dropout)("optimizer",
                                                                                      o.optimizer);
}

Makers classifiers() {
  return {{"lenet", maker<LenetOptions>(lenet)},
          {"mlp", maker<MlpOptions>(mlp)},
          {"mobilenet_v2", maker<MobilenetOptions>(mobilenet_v2)},
          {"resnest50", maker<ResnestOptions>(resnest50)},
          {"resnet18", maker<ResnetOptions>(resnet18)},
          {"resnet34", maker<ResnetOptions>(resnet34)},
          {"resnet50", maker<ResnetOptions>(resnet50, {.classes = 1000})},
          {"swin_tiny", maker<SwinOptions>(swin_tiny)},
          {"vgg11", maker<VggOptions>(vgg, {.layers = 11})},
          {"vgg13", maker<VggOptions>(vgg, {.layers = 13})},
          {"vgg16", maker<VggOptions>(vgg, {.layers = 16})},
          {"vgg19", maker<VggOptions>(vgg, {.layers = 19})}};
}

}  // namespace belfry::models::by_name
