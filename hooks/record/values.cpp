#include "belfry/hooks/record/values.h"

#include <algorithm>
#include <cmath>

#include "belfry/data/formats/images/image_grid.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/text.h"

namespace belfry::hooks {

bool is_finite(const StepResult& result) {
  return std::isfinite(result.loss) && std::ranges::all_of(result.values, [](const auto& named) {
           return std::isfinite(named.second);
         });
}

std::vector<std::pair<std::string, double>> scalars_of(const EvalResult& results) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : results)
    if (name != "global_step" && value.elements() == 1) out.emplace_back(name, value.item());
  return out;
}

std::string evaluation_text(std::int64_t step, const std::string& name, const EvalResult& results) {
  std::vector<std::string> parts;
  for (const auto& [metric, value] : scalars_of(results))
    parts.push_back(concat(metric, " = ", static_cast<float>(value)));
  return concat("step ", step, ": evaluated ", name.empty() ? "" : name + ": ", join(parts, ", "));
}

Array as_pixels(const Array& image) {
  if (image.dtype() == DType::u8) return image;
  return data::image_grid({&image, 1}, {.columns = 1, .border = 0, .low = 0, .high = 1});
}

std::vector<Array> images_of(const SummaryValue& summary) {
  const Array& value = summary.value;
  std::vector<Array> images;
  for (std::int64_t i = 0; i < value.shape()[0]; ++i) images.push_back(as_pixels(value.row(i)));
  return images;
}

std::vector<std::string> texts_of(const SummaryValue& summary) {
  const Shape& shape = summary.value.shape();
  std::int64_t rows = shape.rank() == 1 ? 1 : shape[0], length = shape[shape.rank() - 1];
  auto bytes = summary.value.span<std::uint8_t>();
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < rows; ++i) {
    auto row = bytes.subspan(i * length, length);
    texts.emplace_back(row.begin(), std::ranges::find(row, 0));
  }
  return texts;
}

}  // namespace belfry::hooks
