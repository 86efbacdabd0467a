#include "belfry/models/by_name/maker.h"
#include "belfry/models/images/lenet.h"
#include "belfry/models/images/mobilenet.h"
#include "belfry/models/images/resnest.h"
#include "belfry/models/images/resnet.h"
#include "belfry/models/images/swin.h"
#include "belfry/models/images/vgg.h"
#include "belfry/models/tables/mlp.h"

namespace belfry::models::by_name {

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
