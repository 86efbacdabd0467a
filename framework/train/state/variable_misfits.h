#pragma once
// The variables that a model asks for and that are not there. Internal to train/ and export/.

#include <map>
#include <span>
#include <string>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

/// Variables that are there, by name.
using KnownVariables = std::map<std::string, TensorType, std::less<>>;

/// Adds those of a checkpoint, which also holds what each tower had of those that differ over them.
void add_saved(const NamedArrays& saved, KnownVariables& to);

/// Whether towers or workers may take them for the same variable.
bool is_alike(const VariableOptions& a, const VariableOptions& b);
/// "`w` (f32[3], parameter, mirrored)": what is_alike() compares.
std::string describe_variable(const VariableOptions& variable);

/// A table of the variables that the model wants and that are missing, with the nearest names, or
/// are there with another type, and of what is left over, but for what is kept beside a variable
/// (<variable>/<slot>); a line each. Empty: all that it wants is
/// there. An optimizer's slot that is missing is none of them, it begins with its first value.
std::string describe_misfits(std::span<const VariableOptions> wanted, const KnownVariables& known);

}  // namespace belfry
