#pragma once
// The names that other programs give to variables of the same models, so that their weights can be
// loaded.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belfry::models {

/// The names of torchvision, for resnet18(), resnet34() or resnet50() with the large stem, by the
/// number of layers:
///
///   Estimator estimator({.model_fn = models::resnet50(),
///                        .warm_start = WarmStart{.from = "resnet50.safetensors",
///                                                .names = models::torchvision_resnet_names(50)}});
///
/// for a file that safetensors.torch.save_file(model.state_dict(), ...) wrote. Error: another
/// number.
std::map<std::string, std::string> torchvision_resnet_names(int layers);

/// Options of resnest_names().
struct ResnestNamesOptions {
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};  ///< as those of ResnestOptions
  /// The scope of resnest_features() in the model: "encoder" for unet_resnest(). Empty:
  /// resnest50(), whose last layer has names too.
  std::string scope = {};
};
/// The names of the authors' program (github.com/zhanghang1989/ResNeSt, model resnest50), which
/// timm uses as well (resnest50d):
///
///   Estimator estimator({.model_fn = models::unet_resnest(),
///                        .warm_start = WarmStart{.from = "resnest50.safetensors",
///                                                .variables = {"encoder/"},
///                                                .names = models::resnest_names(
///                                                    {.scope = "encoder"})}});
///
/// begins with a trained way down. Error: a stage without blocks.
std::map<std::string, std::string> resnest_names(const ResnestNamesOptions& options = {});

}  // namespace belfry::models
