#pragma once
// TensorFlow's checkpoints of version 2 ("tensor bundles"): PREFIX.index says which tensors there
// are, PREFIX.data-00000-of-00001 and so on hold them. tf.estimator writes
// model_dir/model.ckpt-100.

#include <string>
#include <vector>

#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

/// The contents of a checkpoint.
struct TensorBundle {
  NamedArrays tensors;
  /// Tensors that have no type here and were left out: "name: string", for example.
  std::vector<std::string> skipped;
};

/// Whether there is a file PREFIX.index. Error: the system does not say.
bool is_tensor_bundle(const std::string& prefix);

/// Reads a checkpoint; the parts of partitioned variables become one array. Everything is checked
/// before memory is taken for it: tensors must lie in their data files, apart from each other, with
/// the size that type and shape ask for, in at most 8 axes; parts must make up the whole along one
/// axis; bytes of a BOOL are 0 or 1; all checksums must be right. Any bytes at all give either
/// their content or an Error, never a crash.
///
/// Strings, complex and quantized numbers, and integers other than i64, i32 and u8 are skipped.
///
/// Error: names the file, and the tensor or byte offset, and what is wrong; the index is compressed
/// by Snappy, and this build has not got it.
TensorBundle read_tensor_bundle(const std::string& prefix);

/// Writes PREFIX.data-00000-of-00001 and then PREFIX.index, each whole or not at all, for
/// tf.train.load_checkpoint(). Equal tensors give equal files. Error: an undefined array; a name
/// that is empty; a file cannot be written.
void write_tensor_bundle(const std::string& prefix, const NamedArrays& tensors);

}  // namespace belfry
