#pragma once
// What torchvision calls the variables of the same models, so that its weights can be loaded.

#include <map>
#include <string>

namespace belfry::models {

/// For resnet18(), resnet34() or resnet50() with the large stem, by the number of layers:
///
///   Estimator estimator({.model_fn = models::resnet50(),
///                        .warm_start = WarmStart{.from = "resnet50.safetensors",
///                                                .names = models::torchvision_resnet_names(50)}});
///
/// for a file that safetensors.torch.save_file(model.state_dict(), ...) wrote. Error: another
/// number.
std::map<std::string, std::string> torchvision_resnet_names(int layers);

}  // namespace belfry::models
