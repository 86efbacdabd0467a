#include <filesystem>
#include <optional>
#include <set>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view shards_suffix = ".safetensors.index.json", index_suffix = ".index";

// Whether `name` is that of a file in the same folder.
bool is_plain_name(const std::string& name) { return fs::path(name).filename() == fs::path(name); }

Weights from_safetensors(const std::string& path) {
  Safetensors file = load_safetensors(path);
  return {.path = path, .tensors = std::move(file.tensors), .metadata = std::move(file.metadata)};
}

// {"weight_map": {"tensor": "file beside this one"}}
Weights from_shards(const std::string& path) {
  Weights out{.path = path, .tensors = {}};
  with_context(concat("in `", path, "`"), [&] {
    const JsonValue map = JsonValue::parse(read_file(path), "").required("weight_map");
    std::set<std::string> files;
    for (const auto& [name, file] : map.members()) {
      if (!file.is_text() || !is_plain_name(file.words()))
        file.refuse("the name of a file beside this one");
      files.insert(file.words());
    }
    for (const std::string& file : files) {
      NamedArrays part =
          load_safetensors(path_in(fs::path(path).parent_path().string(), file)).tensors;
      for (auto& [name, array] : part) {
        auto of = map.member(name);
        require(of && of->words() == file, "weight_map does not say that `", name, "` is in `",
                file, "`");
        out.tensors[name] = std::move(array);
      }
    }
    for (const auto& [name, file] : map.members())
      require(out.tensors.contains(name), "`", name, "` is not in `", file.words(), "`");
  });
  return out;
}

Weights from_bundle(const std::string& prefix) {
  TensorBundle bundle = read_tensor_bundle(prefix);
  return {.path = prefix,
          .tensors = std::move(bundle.tensors),
          .metadata = {},
          .skipped = std::move(bundle.skipped)};
}

// The prefix that a line `model_checkpoint_path: "model.ckpt-100"` in TensorFlow's file
// `checkpoint` names.
std::optional<std::string> named_prefix(const std::string& folder) {
  const std::string list = path_in(folder, "checkpoint");
  if (!is_file(list)) return std::nullopt;
  std::string text = read_file(list);
  constexpr std::string_view key = "model_checkpoint_path: \"";
  std::size_t begin = text.find(key);
  if (begin == std::string::npos || (begin > 0 && text[begin - 1] != '\n')) return std::nullopt;
  begin += key.size();
  std::size_t end = text.find('"', begin);
  if (end == std::string::npos) return std::nullopt;
  std::string prefix = text.substr(begin, end - begin);
  return prefix.starts_with('/') ? prefix : path_in(folder, prefix);
}

Weights from_folder(const std::string& folder) {
  auto checkpoints = list_checkpoints(folder);
  for (auto file = checkpoints.rbegin(); file != checkpoints.rend(); ++file) try {
      return from_safetensors(file->path);
    } catch (const OutOfMemory&) {
      throw;  // it says nothing against this one
    } catch (const Error& error) {
      log_warning("cannot use a checkpoint, trying something older: ", error.what());
    }
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
    if (std::string file = path_in(folder, name); is_file(file)) return load_weights(file);
  if (auto prefix = named_prefix(folder)) return from_bundle(*prefix);
  if (std::string saved = path_in(folder, "variables/variables"); is_tensor_bundle(saved))
    return from_bundle(saved);
  fail("folder `", folder, "` has no checkpoint that can be read, no model.safetensors, ",
       "and none of TensorFlow's");
}

}  // namespace

Weights load_weights(const std::string& from) {
  if (is_folder(from)) return from_folder(from);
  if (from.ends_with(shards_suffix)) return from_shards(from);
  if (is_tensor_bundle(from)) return from_bundle(from);
  if (from.ends_with(index_suffix))
    return from_bundle(from.substr(0, from.size() - index_suffix.size()));
  require(is_file(from), "there is no file, folder or checkpoint of TensorFlow's `", from, "`");
  return from_safetensors(from);
}

}  // namespace belfry
