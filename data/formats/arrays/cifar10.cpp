#include "belfry/data/formats/arrays/cifar10.h"

#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

constexpr std::size_t plane = 32 * 32;
constexpr std::size_t pixels = 3 * plane;

struct Label {
  const char* name;
  std::uint8_t highest;
};

std::int64_t count_records(const std::string& path, std::size_t bytes, std::size_t record) {
  require(bytes > 0 && bytes % record == 0, path, ": ", bytes, " bytes, expected records of ",
          record, " bytes, at least one");
  return bytes / record;
}

// `labels` in the order in which each record begins with them.
Features read_records(const std::string& path, const std::vector<Label>& labels) {
  std::string content = read_file(path);
  std::size_t record = labels.size() + pixels;
  std::int64_t n = count_records(path, content.size(), record);
  Features out;
  Array images({n, 32, 32, 3}, DType::u8);
  out.set("image", images);
  auto target = images.span<std::uint8_t>();
  auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(content[at]); };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::size_t pixel = 0; pixel < plane; ++pixel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        target[i * pixels + pixel * 3 + channel] =
            byte(i * record + labels.size() + channel * plane + pixel);

  for (std::size_t which = 0; which < labels.size(); ++which) {
    Array values({n}, DType::i64);
    auto span = values.span<std::int64_t>();
    for (std::size_t i = 0; i < span.size(); ++i) {
      std::uint8_t value = byte(i * record + which);
      require(value <= labels[which].highest, path, ": the ", labels[which].name, " at byte ",
              i * record + which, " is ", value, ", expected 0 to ", labels[which].highest);
      span[i] = value;
    }
    out.set(labels[which].name, values);
  }
  return out;
}

}  // namespace

Features read_cifar10(const std::string& path) { return read_records(path, {{"label", 9}}); }

Features read_cifar100(const std::string& path) {
  return read_records(path, {{"coarse_label", 19}, {"label", 99}});
}

}  // namespace belfry::data
