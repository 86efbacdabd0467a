#include "belfry/models/torchvision.h"

#include <set>

#include "belfry/models/resnet.h"
#include "models_support.h"

namespace belfry::models {
namespace {

// Each variable of the model has a name there, no two the same, and none is missing: the counts are
// those of torchvision's state_dict() without num_batches_tracked.
TEST(Torchvision, NamesAreThoseOfTheVariables) {
  struct Case {
    int layers;
    ModelFn model;
    std::size_t tensors;
  };
  for (const auto& [layers, model, tensors] :
       {Case{18, resnet18({.classes = 5, .stem = ResnetStem::large}), 102},
        Case{34, resnet34({.classes = 5, .stem = ResnetStem::large}), 182},
        Case{50, resnet50({.classes = 5, .stem = ResnetStem::large}), 267}}) {
    Graph graph;
    model(Scope(graph), Batch(graph, {{"image", {{1, 32, 32, 3}, DType::f32}}}), Mode::predict);
    std::set<std::string> variables, ours, theirs;
    for (const Node* node : graph.variables()) variables.insert(node->as<VariableOptions>().name);
    for (const auto& [name, there] : torchvision_resnet_names(layers)) {
      ours.insert(name);
      theirs.insert(there);
    }
    EXPECT_EQ(ours, variables) << layers;
    EXPECT_EQ(theirs.size(), tensors) << layers;
  }
}

TEST(Torchvision, BlocksAreCountedByStage) {
  auto names = torchvision_resnet_names(50);
  EXPECT_EQ(names.at("stem/norm/moving_variance"), "bn1.running_var");
  EXPECT_EQ(names.at("block4/shortcut/conv/kernel"), "layer2.0.downsample.0.weight");
  EXPECT_EQ(names.at("block13/third/norm/offset"), "layer3.5.bn3.bias");
  EXPECT_EQ(names.at("block16/first/conv/kernel"), "layer4.2.conv1.weight");
  EXPECT_ANY_THROW(torchvision_resnet_names(101));
}

}  // namespace
}  // namespace belfry::models
