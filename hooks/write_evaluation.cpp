#include "belfry/hooks/write_evaluation.h"

#include "belfry/hooks/summary_values.h"

namespace belfry::hooks {

std::string evaluation_dir(const std::string& model_dir, std::string_view name) {
  return concat(model_dir, "/eval", name.empty() ? "" : "_", name);
}

void write_evaluation(const std::string& dir, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint) {
  std::vector<SummaryValue> values;
  for (const auto& [name, value] : result)
    if (value.elements() == 1 && name != "global_step")
      values.push_back(scalar_summary(name, value.item()));
  if (!checkpoint.empty()) values.push_back(text_summary("checkpoint_path", checkpoint));
  EventFile(dir).add(step, std::move(values));
}

}  // namespace belfry::hooks
