#include "belfry/data/formats/arrays/cifar10.h"

#include <cstring>

#include "belfry/data/sources/media.h"
#include "belfry/data/sources/sources.h"

namespace belfry::data {

Dataset cifar10(const std::string& directory, Split split) {
  std::vector<Features> parts;
  std::int64_t count = 0;
  for (int i = 1; i <= (split == Split::train ? 5 : 1); ++i) {
    std::string name = split == Split::train ? concat("data_batch_", i, ".bin") : "test_batch.bin";
    parts.push_back(read_cifar10(directory + "/" + name));
    count += parts.back().at("label").elements();
  }
  Features all{{"image", Array(Shape{count, 32, 32, 3}, DType::u8)},
               {"label", Array(Shape{count}, DType::i64)}};
  for (auto& [name, array] : all) {
    std::byte* at = array.raw_bytes().data();
    for (const Features& part : parts) {
      auto bytes = part.at(name).raw_bytes();
      std::memcpy(at, bytes.data(), bytes.size());
      at += bytes.size();
    }
  }
  return from_arrays(std::move(all), "cifar10");
}

Dataset cifar100(const std::string& directory, Split split) {
  const char* name = split == Split::train ? "/train.bin" : "/test.bin";
  return from_arrays(read_cifar100(directory + name), "cifar100");
}

}  // namespace belfry::data
