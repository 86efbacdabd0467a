#pragma once
// GANs that find out by themselves what varies in their data (Chen et al., "InfoGAN: interpretable
// representation learning by information maximizing generative adversarial nets", NeurIPS 2016).

#include "belfry/models/gan/dcgan.h"

namespace belfry::gan {

/// The parts of a row's code, and the weights of recognising them.
struct CodeOptions {
  std::int64_t categories = 10;    ///< at least 1; with 1 the category says nothing
  std::int64_t continuous = 2;     ///< numbers, at least 0
  double category_weight = 1;      ///< of the loss, at least 0
  double continuous_weight = 0.1;  ///< likewise
  BELFRY_FIELDS(categories, continuous, category_weight, continuous_weight)
};

/// The part of a generator's input that its data are to show.
struct Code {
  Tensor category = {};    ///< i64 [n], 0..categories-1
  Tensor continuous = {};  ///< f32 [n, continuous], in [-1, 1); undefined if there are none
};
/// Codes drawn uniformly. Error: a number out of range.
Code random_code(const Scope& scope, std::int64_t rows, const CodeOptions& options = {});
/// As a generator takes it: [n, categories + continuous], the category one-hot. A category out of
/// range is an Error when the step runs.
Tensor code_numbers(const Code& code, const CodeOptions& options = {});

/// A bound on the information that generated data hold about their codes (equation 4 there, without
/// the entropy of the code, and negated): the mean of -log q(code | data), where `recognised` [n,
/// categories + continuous] are the logits of categories and, for the continuous numbers, the means
/// of normal distributions of deviation 1; category and continuous numbers each times their weight.
/// Error: another shape.
Tensor mutual_information_penalty(Tensor recognised, const Code& code,
                                  const CodeOptions& options = {});
/// For a discriminator with logits [n, 1 + categories + continuous]: `loss` of the first, plus, for
/// both networks, the penalty of the others, for the data generated from `code`.
Loss with_mutual_information(Loss loss, Code code, const CodeOptions& options = {});

/// Options of infogan().
struct InfoganOptions {
  DcganOptions networks = {.noise = 62};  ///< classes: 0
  CodeOptions code = {};                  ///< given to the generator beside noise
  /// `loss` is of the first logit. The generator stays empty; a discriminator that is not set is
  /// DCGAN's, one of your own gives logits [n, 1 + categories + continuous]. The generator's rate
  /// is the paper's (appendix C.1), five times the discriminator's: with equal ones codes mean
  /// little.
  GanOptions gan = {.generator_optimizer = adam({.learning_rate = 1e-3, .beta1 = 0.5})};
  /// Makes data from noise of its own and code_numbers(); not set: DCGAN's, with noise that is
  /// uniform in [-1, 1) as the continuous numbers are: beside normal noise codes mean less.
  std::function<Tensor(Scope, Tensor numbers, const Batch&, Mode)> generator = {};
  /// The fields of all parts as its own: see OptionStruct.
  static void fields(auto& o, auto&& field) {
    DcganOptions::fields(o.networks, field);
    CodeOptions::fields(o.code, field);
    GanOptions::fields(o.gan, field);
  }
};
/// An InfoGAN, whose recognition network is the discriminator with more logits. Feature: "image"
/// (GanOptions::real). predict() uses the features "category" (i64 [n]) and "continuous" (f32 [n,
/// continuous]) in place of drawn codes where the batch has them. Metrics beside those of gan():
/// "category_accuracy", how often a generated image's category is recognised, and
/// "mutual_information_penalty". Error: a number out of range, gan.generator is set, a feature of
/// another type, and as gan().
ModelFn infogan(InfoganOptions options = {});

}  // namespace belfry::gan
