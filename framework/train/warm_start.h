#pragma once
// Beginning with the values of another model, in place of first values; trained values in files of
// any kind that can be read here.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

/// Arrays by name, and where they are from.
struct Weights {
  std::string path;  ///< of the file that was read, or the prefix of a checkpoint of TensorFlow's
  NamedArrays tensors;     ///< by the names that they have there
  Metadata metadata = {};  ///< of a safetensors file
  /// Tensors of a type that Belfry does not have and were left out: "name: string", for example.
  std::vector<std::string> skipped = {};
};

/// Reads the weights that `from` names:
/// - a checkpoint of Belfry's or any other safetensors file, `*.safetensors`;
/// - the index of one in several files, `*.safetensors.index.json`, as Hugging Face writes it;
/// - a checkpoint of TensorFlow's, `PREFIX` or `PREFIX.index`;
/// - a folder: the newest of its checkpoints, `model.safetensors` (an export's), the index of one
///   in several files, the checkpoint that TensorFlow's file `checkpoint` names, or
///   `variables/variables` (a SavedModel's), the first of these that there is.
/// Error: none of these; the file is damaged; each names the file.
Weights load_weights(const std::string& from);

/// How the kernels of a source are laid out, where a variable `kernel` of dense layers and
/// convolutions takes its value from them. Recurrent layers need none: where the source's name is
/// one of PyTorch's (weight_ih_l0, bias_hh_l0_reverse), matrices are transposed, the gates of a GRU
/// change places, and two biases are added up for a layer that has one; Keras' are as Belfry's, but
/// for the bias of its GRU, of which `bias` and `recurrent_bias` take a row each.
enum class KernelLayout : std::uint8_t {
  by_name,  ///< a tensor whose name ends in "weight" is PyTorch's, others are as Belfry's
  belfry,   ///< [in, out] and [h, w, in, out]: Belfry's, TensorFlow's, Keras' and Flax'
  /// [out, in] and [out, in, h, w], of transposed convolutions [in, out, h, w], of depthwise ones
  /// [channels * multiplier, 1, h, w]; alike along one axis and three.
  pytorch,
};

/// `pattern` is a regular expression (ECMAScript) of whole names; in `replacement` $1 and so on
/// stand for its groups.
struct RenameRule {
  std::string pattern = {};      ///< matched with a variable's name in the model
  std::string replacement = {};  ///< the source's name of it
};

/// A variable with a row, or column, for each token of a vocabulary, and as many more as there are
/// beyond the last token. Tokens that both vocabularies have take their values over; the others,
/// and what is beyond, keep first values.
struct WarmStartVocabulary {
  std::string variable = {};    ///< full name
  std::string tokens = {};      ///< path of a file with a token a line
  std::string old_tokens = {};  ///< the same, of the source
  int axis = 0;                 ///< its axis with an index for each token
};

/// Which values to begin with. They are taken only where model_dir has no checkpoint, and never the
/// number of steps.
struct WarmStart {
  std::string from = {};  ///< what load_weights() reads
  /// The model's variables that take values, as regular expressions (ECMAScript) which must match
  /// from the beginning of the full name: "block" means all under "block1", too.
  std::vector<std::string> variables = {".*"};
  bool statistics = true;  ///< moving means and the like, beside parameters
  bool slots = false;      ///< the optimizer's, and moving averages
  /// The source's name of a variable, by the model's. One tensor may go to several variables.
  std::map<std::string, std::string> names = {};
  /// The same by rule, for names that are not in `names`: the first whose pattern matches.
  std::vector<RenameRule> renames = {};
  KernelLayout layout = KernelLayout::by_name;  ///< the source's
  /// The image [h, w, c] that was flattened to be a dense layer's input, by full name of the
  /// kernel. PyTorch's images are flattened with channels first, and rows of its kernels are
  /// ordered so.
  std::map<std::string, Shape> flattened = {};
  /// For variables with a row or column for each token; at most one for each variable counts.
  std::vector<WarmStartVocabulary> vocabularies = {};
  /// A variable that the source has not, or has in another shape, is an Error; false: it keeps its
  /// first value.
  bool strict = true;
};

/// The outcome for one variable.
struct WarmStartEntry {
  /// mismatched: the source's shape or type does not fit; absent: the source has none.
  enum class State : std::uint8_t { loaded, mismatched, absent };
  State state = State::absent;  ///< whether it takes a value, or why not
  /// Its name here and there.
  ///@{
  std::string variable = {}, source = {};
  ///@}
  /// Its type here and there; the second says nothing where absent.
  ///@{
  TensorType type = {}, source_type = {};
  ///@}
  std::string conversion = {};                         ///< "transposed, f16 to f32"; empty: none
  bool renamed() const { return source != variable; }  ///< the two names differ
};

/// The effects of a warm start.
struct WarmStartTable {
  std::string from;                     ///< Weights::path
  std::vector<WarmStartEntry> entries;  ///< of the variables asked for, in the model's order
  std::vector<std::string> unused;      ///< of the source
  std::vector<std::string> skipped;     ///< Weights::skipped
  NamedArrays values;                   ///< by the model's names
};

/// A table: each variable with what it takes, then what is left over.
std::string to_string(const WarmStartTable& table);

/// Works out what variables of a model take from `source`. Floats become floats and integers
/// integers of the type asked for. `seed` is for the first values of rows that a vocabulary adds.
/// With `whole_model` all the model's variables are given, and a name or pattern of `options` that
/// none of them has is an Error. Error: strict, and a variable cannot be had, with the table; a
/// vocabulary cannot be read, has a token twice or more tokens than the variable has rows.
WarmStartTable warm_start_table(const WarmStart& options, const Weights& source,
                                std::span<const VariableOptions> variables, std::uint64_t seed,
                                bool whole_model = true);

}  // namespace belfry
