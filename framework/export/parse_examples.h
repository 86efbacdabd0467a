#pragma once
// From serialized tf.train.Examples to the inputs of a saved graph.

#include <span>
#include <string>

#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/tensor/features.h"

namespace belfry::saved {

/// Error: Signature::examples names something that is no input, or says what cannot be of one. The
/// nodes have been instantiated.
void check_examples(const Signature& signature);

/// The batch whose rows these Examples are. Error: names the example, the feature, what was
/// expected and what is there; an input has no row an example; images are to be decoded and there
/// is no `decode`.
Features parse_examples(std::span<const std::string> serialized, const Signature& signature,
                        const DecodeImage& decode);

}  // namespace belfry::saved
