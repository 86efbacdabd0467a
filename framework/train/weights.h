#pragma once
// Trained values in files of any kind that can be read here.

#include <string>
#include <vector>

#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

/// Arrays by name, and where they are from.
struct Weights {
  std::string path;  ///< of the file that was read, or the prefix of a checkpoint of TensorFlow's
  NamedArrays tensors;
  Metadata metadata = {};  ///< of a safetensors file
  /// Tensors that have no type here and were left out: "name: string", for example.
  std::vector<std::string> skipped = {};
};

/// Reads, whatever `from` names:
/// - a checkpoint of Belfry's or any other safetensors file, `*.safetensors`;
/// - the index of one in several files, `*.safetensors.index.json`, as Hugging Face writes it;
/// - a checkpoint of TensorFlow's, `PREFIX` or `PREFIX.index`;
/// - a folder: the newest of its checkpoints, `model.safetensors` (an export's), the index of one
///   in several files, the checkpoint that TensorFlow's file `checkpoint` names, or
///   `variables/variables` (a SavedModel's), the first of these that there is.
/// Error: none of these; the file is damaged; each names the file.
Weights load_weights(const std::string& from);

}  // namespace belfry
