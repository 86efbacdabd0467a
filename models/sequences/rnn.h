#pragma once
// Recurrent networks that read a sequence and say one thing of it.

#include <cstdint>
#include <string>

#include "belfry/framework/framework.h"
#include "belfry/models/heads.h"

namespace belfry::models {

/// Options of rnn().
struct RnnOptions {
  RecurrentCell cell = RecurrentCell::lstm;  ///< of all layers
  std::int64_t units = 64;                   ///< of each layer in each direction
  int layers = 1;                            ///< one on top of the other
  bool bidirectional = false;                ///< each layer reads from both ends
  std::int64_t vocabulary = 0;  ///< number of tokens; needed where the feature holds tokens
  std::int64_t width = 64;      ///< of the vector that a token gets
  float dropout = 0;            ///< between layers and in front of the head, in [0, 1)
  std::string feature = "x";    ///< floating [n, t, c], or tokens: i32 or i64 [n, t]
  std::string lengths = {};     ///< feature with the number of steps that count, [n]; empty: all do
  Head head = multi_class_head({.classes = 2});         ///< labels, loss and predictions
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  BELFRY_FIELDS(cell, units, layers, bidirectional, vocabulary, width, dropout, feature, lengths,
                head, optimizer)
};

/// Layers of lstm(), gru() or simple_rnn() over the steps; the state behind a row's last step goes
/// through a dense layer to the head. With multi_class_head() it classifies sequences, with
/// regression_head() it forecasts: the RNNClassifier and RNNEstimator of tf.estimator.
///
/// Features: the one named, and those of the head. Error: options out of range, a feature that is
/// not as above; what the head throws; when the step runs, a token outside 0..vocabulary-1, or a
/// length outside 0..t.
ModelFn rnn(RnnOptions options = {});

}  // namespace belfry::models
