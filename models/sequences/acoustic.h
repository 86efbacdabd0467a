#pragma once
// Networks that recognise speech.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of acoustic().
struct AcousticOptions {
  /// Kinds of labels, numbered from 1: 26 for "a" to "z". 0 is the blank, which no label is.
  std::int64_t labels = 26;
  /// The filters of each convolution over time; where a number repeats without a stride there is a
  /// shortcut.
  std::vector<std::int64_t> filters = {128, 128, 128, 128, 128, 128};
  /// The stride of each convolution, in frames; those that are not given are 1. Their product is
  /// the number of input frames for one frame of logits.
  std::vector<std::int64_t> strides = {2};
  std::int64_t kernel = 5;           ///< window of each convolution, in frames; odd
  float dropout = 0.1f;              ///< behind each convolution, in [0, 1)
  double batch_norm_momentum = 0.9;  ///< fraction of the moving statistics that a step keeps
  bool sync_batch_norm = false;      ///< see BatchNormLayerOptions::sync
  std::int64_t separator = -1;       ///< label between words, for the metric; -1: a row is one word
  bool zero_infinity = false;        ///< labels that do not fit have loss 0 and are no error
  std::string audio = "audio";       ///< feature with the frames; lengths: this and "_length"
  std::string label = "label";       ///< feature with the labels; lengths: this and "_length"
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  BELFRY_FIELDS(labels, filters, strides, kernel, dropout, batch_norm_momentum, sync_batch_norm,
                separator, zero_infinity, audio, label, optimizer)
};

/// A deep convolutional network over the frames of a spectrogram, trained with ctc_loss() on labels
/// that are not aligned with them (after Collobert, Puhrsch and Synnaeve, "Wav2Letter", 2016): each
/// convolution is followed by batch norm, ReLU and dropout, and a dense layer gives the logits.
/// Frames behind a row's length are taken as 0, so that nothing depends on how far rows are padded
/// (but for the statistics of a training batch); log-mel bands should therefore have mean 0.
///
/// Features: "audio" floating [n, t, bands] with "audio_length" [n], and, not in predict mode,
/// "label" [n, l] with "label_length" [n], as padded_batch() makes them: its option .lengths =
/// {{"audio", "audio_length"}, {"label", "label_length"}} adds the lengths. A row of k frames has
/// ceil(k / strides) frames of logits, the strides one after the other. Loss: the mean of
/// ctc_loss() over rows. Predictions: "logits" f32 [n, t', labels + 1] with "logits_length" i64
/// [n], for ctc_beam_search(), and "decoded" i64 [n, t'] with "decoded_length" i64 [n], by
/// ctc_greedy_decode(). Metrics: "character_error_rate" and "word_error_rate" of those.
///
/// Error: options out of range; no frames at all; when the step runs, lengths beyond a feature's
/// size, rows with too few frames for their labels, and those of ctc_loss().
ModelFn acoustic(AcousticOptions options = {});

}  // namespace belfry::models
