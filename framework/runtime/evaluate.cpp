#include "belfry/framework/runtime/evaluate.h"

#include "belfry/framework/runtime/executable.h"

namespace belfry {

Evaluator::Evaluator(const std::vector<Tensor>& outputs, EvaluateOptions options)
    : options_(options) {
  auto device = find_device(options.device);
  auto plan = compile(outputs, {}, *device,
                      {.fast = options.fast,
                       .verify = true,
                       .tf32 = options.tf32,
                       .exact_convolutions = options.exact_convolutions});
  variables_ = std::make_unique<VariableStore>(device);
  executable_ = std::make_unique<Executable>(plan, *variables_, options.seed);
}

Evaluator::~Evaluator() = default;

std::vector<Array> Evaluator::operator()(const std::map<std::string, Array>& inputs) {
  Features batch;
  for (const auto& [name, value] : inputs) {
    if (variables_->contains(name)) {
      variables_->write(name, value);
    } else {
      batch.set(name, value);
    }
  }
  executable_->run(batch, {.seed = options_.seed, .step = options_.step});
  std::vector<Array> results;
  for (std::size_t i = 0; i < executable_->output_count(); ++i)
    results.push_back(executable_->output(i).clone());
  return results;
}

std::vector<Array> evaluate(const std::vector<Tensor>& outputs,
                            const std::map<std::string, Array>& inputs, EvaluateOptions options) {
  return Evaluator(outputs, options)(inputs);
}

}  // namespace belfry
