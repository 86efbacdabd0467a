#pragma once
// Models by name.

#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The model function of this name, with the fields of its options struct from a JSON object:
///
///   make("vgg16", R"({"classes": 10, "optimizer": {"name": "adam", "learning_rate": 1e-4}})")
///
/// Fields that are not there keep the function's defaults. An optimizer is an object with "name"
/// and the numbers and truth values of its options. Its learning rate is a number, or an object
/// with the name and the fields of a schedule: exponential_decay, piecewise_constant,
/// polynomial_decay, cosine_decay, one_cycle, range_test, or warmup with another one (or a number)
/// as "after":
/// {"name": "warmup", "steps": 1000, "after": {"name": "cosine_decay", "initial": 0.1,
/// "decay_steps": 9000}}. An object too is a head: binary, multi_class,
/// multi_label, regression, poisson, or multi with a list of "heads": {"name": "multi", "heads":
/// [{"name": "clicks", "head": {"name": "poisson", "label": "clicks"}, "weight": 2}]}. vgg11,
/// vgg13, vgg16 and vgg19 are vgg() with those layers. The GANs dcgan, cgan and wgan_gp
/// (gan/estimators.h), acgan and infogan have the fields of gan::DcganOptions, those of their own,
/// `generator_optimizer` and `discriminator_optimizer` (wgan has no name, as an optimizer by name
/// would lose its clipping), and `round`, an object with the fields of gan::RoundOptions, batches
/// being "fresh" or "same", and `jointly`, with which it is gan::joint() instead of sequential(). A
/// round that is given is a whole one: what it leaves out is as in gan::RoundOptions.
/// cyclegan has the fields of its options but for the loss, with `pool_size` for the pool's.
///
/// Error: an unknown name or field (with those that there are), a value of another type, no JSON
/// (with line and column), and whatever the function itself refuses.
ModelFn make(std::string_view name, std::string_view json = "{}");

/// All names, sorted.
std::vector<std::string> names();

}  // namespace belfry::models
