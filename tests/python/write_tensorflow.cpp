// Writes tensors as a checkpoint of TensorFlow, <folder>/ours.index, and as
// <folder>/ours.safetensors. With `back`, begins with the checkpoint of an Estimator that
// read_tensorflow.py has trained in <folder>, and compares predictions.

#include <cstdio>

#include "belfry/framework/tensor/tensor_bundle.h"
#include "warm_logits.h"

using namespace belfry;

int main(int count, char** arguments) try {
  std::string folder = arguments[1];
  if (count > 2) {
    check_warm_logits("tensorflow", folder, folder + "/predictions.safetensors");
    return 0;
  }
  NamedArrays tensors{{"n", Array::scalar<std::int64_t>(5)},
                      {"flag", Array::of<bool>({true, false})},
                      {"half", Array::of<float>({1.5f, -2}).cast(DType::f16)},
                      {"none", Array(Shape{3, 0}, DType::f32)}};
  for (int i = 0; i < 40; ++i) {  // enough for more than one block of the index
    Array kernel(Shape{i, 7}, DType::f32);
    for (float& value : kernel.span<float>())
      value = static_cast<float>(&value - kernel.span<float>().data());
    tensors[concat("layer", i, "/kernel")] = kernel;
  }
  write_tensor_bundle(folder + "/ours", tensors);
  save_safetensors(folder + "/ours.safetensors", tensors);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
