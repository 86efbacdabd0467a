#include "belfry/models/torchvision.h"

#include <array>

#include "belfry/framework/base/error.h"

namespace belfry::models {
namespace {

using Names = std::map<std::string, std::string>;

void add_conv_norm(Names& names, const std::string& ours, const std::string& conv,
                   const std::string& norm) {
  names[ours + "/conv/kernel"] = conv + ".weight";
  names[ours + "/norm/scale"] = norm + ".weight";
  names[ours + "/norm/offset"] = norm + ".bias";
  names[ours + "/norm/moving_mean"] = norm + ".running_mean";
  names[ours + "/norm/moving_variance"] = norm + ".running_var";
}

}  // namespace

std::map<std::string, std::string> torchvision_resnet_names(int layers) {
  require(layers == 18 || layers == 34 || layers == 50,
          "torchvision_resnet_names: expected 18, 34 or 50 layers, got ", layers);
  const std::array<int, 4> blocks = layers == 18 ? std::array{2, 2, 2, 2} : std::array{3, 4, 6, 3};
  const int convolutions = layers == 50 ? 3 : 2;  // in a block
  constexpr std::array<const char*, 3> parts{"first", "second", "third"};
  Names names{{"head/kernel", "fc.weight"}, {"head/bias", "fc.bias"}};
  add_conv_norm(names, "stem", "conv1", "bn1");
  int number = 0;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      std::string ours = concat("block", ++number), theirs = concat("layer", stage + 1, ".", i);
      for (int c = 0; c < convolutions; ++c)
        add_conv_norm(names, concat(ours, "/", parts[static_cast<std::size_t>(c)]),
                      concat(theirs, ".conv", c + 1), concat(theirs, ".bn", c + 1));
      // The first block of a stage changes the shape, but for basic ones in the first stage.
      if (i == 0 && (stage > 0 || layers == 50))
        add_conv_norm(names, ours + "/shortcut", theirs + ".downsample.0",
                      theirs + ".downsample.1");
    }
  return names;
}

}  // namespace belfry::models
