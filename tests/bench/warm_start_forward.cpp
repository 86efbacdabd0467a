// The predictions of a model that began with weights from elsewhere: see peers/warm_start_peers.py.
//
//   warm_start_forward --model resnet50 --from FILE --input FILE --output FILE
//
// --model is resnet18, resnet34 or resnet50 of torchvision, or tensorflow, the model of
// peers/tensorflow_checkpoint.py. Input and output are safetensors; predictions are logits.

#include "arguments.h"
#include "warm_started.h"

namespace belfry {
namespace {

void run(int argc, char** argv) {
  std::string model, from, input, output;
  bench::read_options(
      argc, argv,
      {{"--model", &model}, {"--from", &from}, {"--input", &input}, {"--output", &output}});
  Features features;
  for (const auto& [name, array] : load_safetensors(input).tensors)
    if (name != "logits") features.set(name, array);
  Array logits = bench::warm_logits(bench::source_of(model), from, features);
  save_safetensors(output, {{"logits", logits}});
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(argc, argv); });
}
