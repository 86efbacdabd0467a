#include <array>

#include "belfry/data/formats/arrays/idx.h"
#include "belfry/data/sources/digits.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/folder_names.h"

namespace belfry::data {
namespace {

std::string find_file(const std::string& directory, const std::string& name) {
  std::string plain = path_in(directory, name);
  std::string zipped = plain + ".gz";
  for (const std::string& path : {plain, zipped})
    if (is_file(path)) return path;
  fail("mnist: found neither ", plain, " nor ", zipped,
       "; the directory must hold the four files of MNIST");
}

const std::array<float, 256>& shades() {
  static const auto table = [] {
    std::array<float, 256> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i / 255.0f;
    return out;
  }();
  return table;
}

}  // namespace

Dataset mnist(const std::string& directory, Split split) {
  std::string prefix = split == Split::train ? "train" : "t10k";
  std::string images_path = find_file(directory, prefix + "-images-idx3-ubyte");
  std::string labels_path = find_file(directory, prefix + "-labels-idx1-ubyte");
  const Array images = read_idx(images_path);
  const Array labels = read_idx(labels_path);

  std::int64_t count = images.shape()[0];
  for (const auto& [path, array] : {std::pair(images_path, images), {labels_path, labels}})
    require(array.dtype() == DType::u8, path, ": the elements are ", array.dtype(),
            ", expected bytes (type 8 at byte 2)");
  require(images.shape() == Shape({count, 28, 28}), images_path, ": the sizes from byte 4 on are ",
          images.shape(), ", expected [n, 28, 28]");
  require(labels.shape() == Shape{count}, labels_path, ": the sizes from byte 4 on are ",
          labels.shape(), ", expected [", count, "], one label for each image in ", images_path);
  auto digits = labels.span<std::uint8_t>();
  for (std::size_t i = 0; i < digits.size(); ++i)
    require(digits[i] <= 9, labels_path, ": the label at byte ", 8 + i, " is ", digits[i],
            ", expected 0 to 9");

  constexpr std::size_t pixels = 28 * 28;
  const Signature signature{{"image", {{28, 28, 1}, DType::f32}}, {"label", {{}, DType::i64}}};
  auto read = [=](std::int64_t index, Features& out) {
    prepare(out, signature);
    std::size_t i = index;
    auto source = images.span<std::uint8_t>().subspan(i * pixels, pixels);
    auto target = out.begin()->second.span<float>();
    const auto& shade = shades();
    for (std::size_t p = 0; p < pixels; ++p) target[p] = shade[source[p]];
    (out.begin() + 1)->second.span<std::int64_t>()[0] = labels.span<std::uint8_t>()[i];
  };
  return indexed(count, read, "mnist");
}

}  // namespace belfry::data
