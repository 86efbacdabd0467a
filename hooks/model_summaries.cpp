#include "belfry/hooks/model_summaries.h"

#include <algorithm>

#include "belfry/data/formats/images/image_grid.h"
#include "belfry/framework/base/enum_names.h"
#include "belfry/framework/base/error.h"

namespace belfry::hooks {

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
    auto row =
        bytes.subspan(static_cast<std::size_t>(i * length), static_cast<std::size_t>(length));
    texts.emplace_back(row.begin(), std::ranges::find(row, 0));
  }
  return texts;
}

std::vector<EventValue> shown_values(const SummaryValue& summary) {
  const std::string& name = summary.name;
  std::vector<EventValue> values;
  switch (summary.kind) {
    case SummaryKind::scalar:
      return {scalar_summary(name, summary.value.item())};
    case SummaryKind::histogram:
      return {histogram_summary(name, summary.value)};
    case SummaryKind::text:
      return {text_summary(name, texts_of(summary))};
    case SummaryKind::image:
      for (Array& image : images_of(summary))
        values.push_back(image_summary(concat(name, "/image/", values.size()), std::move(image)));
      return values;
  }
  no_such_value(summary.kind);
}

}  // namespace belfry::hooks
