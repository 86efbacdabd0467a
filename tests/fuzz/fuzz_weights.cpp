// Any bytes are the index of weights in several files, or TensorFlow's file `checkpoint`, or the
// tokens of a warm start, each a line, or Errors. Weights are those of the files beside it, and
// rows go to the tokens that they belong to.

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/state/warm_start_values.h"
#include "json_mutator.h"
#include "memory_folder.h"

using namespace belfry;

namespace {

const NamedArrays& weights() {
  static const NamedArrays all{{"a", Array::of<float>({1, 2})},
                               {"b/c", Array::of<float>({3, 4, 5})},
                               {"d", Array::scalar<std::int64_t>(7)}};
  return all;
}

/// The files beside the input: weights of both kinds, and a list of tokens.
struct Folder : MemoryFolder {
  Folder() {
    const NamedArrays& all = weights();
    save_safetensors(path + "/one.safetensors", {*all.find("a"), *all.find("b/c")});
    save_safetensors(path + "/two.safetensors", {*all.find("d")});
    write_tensor_bundle(path + "/model.ckpt-1", all);
    write_file_atomically(path + "/old", "x\ny\nz\n");
  }
};

void write(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

void check(const Weights& read) {
  for (const auto& [name, array] : read.tensors)
    if (!weights().contains(name) || !identical(array, weights().at(name))) std::abort();
}

void read_index(const std::string& folder, std::string_view bytes) {
  const std::string path = folder + "/x.safetensors.index.json";
  write(path, bytes);
  try {
    check(load_weights(path));
  } catch (const Error&) {
  }
}

void read_name_of_checkpoint(const std::string& folder, std::string_view bytes) {
  write(folder + "/checkpoint", bytes);
  try {
    check(load_weights(folder));
  } catch (const Error&) {
  }
}

// Row i of what is wanted has row j of the source where token i is the source's token j, and zeros
// where there is none.
void read_tokens(const std::string& folder, std::string_view bytes) {
  write(folder + "/tokens", bytes);
  const VariableOptions wanted{.name = "table", .type = {{9, 1}, DType::f32}};
  const Array source = Array::of<float>({1, 2, 3, 4}, {4, 1});
  std::optional<ConvertedValue> taken;
  try {
    taken = take_tokens({.tokens = folder + "/tokens", .old_tokens = folder + "/old"}, wanted,
                        source, 1);
    // The other way round its rows are too few for some.
    take_tokens({.tokens = folder + "/old", .old_tokens = folder + "/tokens"}, wanted, source, 1);
  } catch (const Error&) {
  }
  if (!taken) return;
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < bytes.size(); ++row) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view token = bytes.substr(begin, end - begin);
    if (token.ends_with('\r')) token.remove_suffix(1);
    const std::size_t old = token.size() == 1 ? std::string_view("xyz").find(token) : token.npos;
    const float expected = old == token.npos ? 0 : static_cast<float>(old + 1);
    if (taken->value.span<float>()[row] != expected) std::abort();
    begin = end + 1;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  static const std::vector<std::string> words{
      "weight_map", "a", "b/c", "d", "one.safetensors", "two.safetensors", "..", "../x", ".", "/"};
  return mutate_json(data, size, max_size, seed, [&](Json& document) {
    JsonMutator mutator(seed, words);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i) mutator.change(document);
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_index(folder.path, bytes);
  read_name_of_checkpoint(folder.path, bytes);
  read_tokens(folder.path, bytes);
  return 0;
}
