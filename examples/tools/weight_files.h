#pragma once
// The operations of belfry-ckpt on files of weights.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/warm_start.h"

namespace belfry::programs {

/// The weights that load_weights() reads, or the arrays of an NPZ file.
Weights read_weights(const std::string& path);

/// Error: the name asks for no format that write_weights() knows.
void check_written_name(const std::string& path);

/// Writes in the format that the name asks for: `*.safetensors`, `*.npz`, which holds bf16 as f32,
/// or a checkpoint of TensorFlow's, `PREFIX` or `PREFIX.index`, with the number of steps as
/// `global_step`. A PREFIX has no extension, or one that begins with `.ckpt`. Metadata stay in
/// safetensors files alone. Returns what had to be changed.
std::vector<std::string> write_weights(const std::string& path, const Weights& weights);

/// Where two files differ.
struct Difference {
  std::string name;
  std::string what;  ///< "only in a.safetensors", "f32[2] and f32[3]", "by 0.25 at most"
};
/// The differences between `a` and `b`. Tensors of the same type count if an element differs by
/// more than `tolerance`; at 0, if the bits differ.
std::vector<Difference> compare(const Weights& a, const Weights& b, double tolerance);

/// Gives tensors other names: the one that `names` says, or else the first of `rules` that matches.
/// The tensors below a renamed one go along, for example its slots: with `w` goes `w/adam/m`,
/// unless it is renamed itself. Error: there is no such tensor, or it is named twice; a rule
/// renames none; there is nothing to do; two would have one name.
void rename(Weights& weights, const std::vector<std::pair<std::string, std::string>>& names,
            const std::vector<std::pair<std::string, std::string>>& rules);

/// The mean of each floating tensor, computed in f64; all else is the last file's. Error: no files,
/// or they do not hold the same tensors.
Weights average(const std::vector<std::string>& paths);

}  // namespace belfry::programs
