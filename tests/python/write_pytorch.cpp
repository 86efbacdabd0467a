// Writes nothing. With `back`, begins with the weights of a ResNet-50 of torchvision that
// read_pytorch.py has written to <folder>, by a map of names, and compares logits.

#include <cstdio>

#include "warm_logits.h"

using namespace belfry;

int main(int count, char** arguments) try {
  std::string folder = arguments[1];
  if (count > 2)
    check_warm_logits("resnet50", folder + "/resnet50.safetensors",
                      folder + "/predictions.safetensors");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
