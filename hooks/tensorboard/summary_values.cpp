#include "belfry/hooks/tensorboard/summary_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "belfry/data/formats/images/image.h"
#include "belfry/framework/base/error.h"

namespace belfry::hooks {
namespace {

using protobuf::WireWriter;

// Numbers of tensorflow/core/framework/types.proto.
constexpr std::uint64_t float_type = 1, string_type = 7;

// Summary.Value: tag = 1, simple_value = 2, image = 4, histo = 5, tensor = 8, metadata = 9.
template <class Body>
EventValue with_tag(std::string tag, Body body) {
  require(!tag.empty(), "summary: the tag is empty");
  return [tag = std::move(tag), body = std::move(body)](WireWriter& out) {
    out.text(1, tag);
    body(out);
  };
}

void put_metadata(WireWriter& out, std::string_view plugin, std::vector<std::byte> content = {}) {
  out.message(9, [&] {
    out.message(1, [&] {
      out.text(1, plugin);
      if (!content.empty()) out.bytes(2, content);
    });
  });
}

// TensorProto; `put_values` writes its values.
template <class PutValues>
void put_tensor(WireWriter& out, std::uint64_t type, std::initializer_list<std::uint64_t> shape,
                PutValues put_values) {
  out.message(8, [&] {
    out.varint(1, type);
    out.message(2, [&] {
      for (std::uint64_t size : shape) out.message(2, [&] { out.varint(1, size); });
    });
    put_values();
  });
}

}  // namespace

EventValue scalar_summary(std::string tag, double value) {
  return with_tag(std::move(tag),
                  [value](WireWriter& out) { out.float32(2, static_cast<float>(value)); });
}

EventValue image_summary(std::string tag, Array image) {
  const Shape& shape = image.shape();
  std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  require(image.defined() && image.dtype() == DType::u8 && (shape.rank() == 2 || shape.rank() == 3)
              && (channels == 1 || channels == 3 || channels == 4) && shape.elements() > 0,
          "image_summary: expected u8 [h, w] or [h, w, 1 | 3 | 4], got ", image.type(), " for `",
          tag, "`");
  return with_tag(std::move(tag), [image = std::move(image), channels](WireWriter& out) {
    out.message(4, [&] {
      out.varint(1, image.shape()[0]);
      out.varint(2, image.shape()[1]);
      out.varint(3, channels);
      out.bytes(4, data::encode_png(image));
    });
  });
}

EventValue text_summary(std::string tag, std::string markdown) {
  return text_summary(std::move(tag), std::vector{std::move(markdown)});
}

EventValue text_summary(std::string tag, std::vector<std::string> rows) {
  return with_tag(std::move(tag), [rows = std::move(rows)](WireWriter& out) {
    put_tensor(out, string_type, {rows.size()}, [&] {
      for (const std::string& row : rows) out.text(8, row);
    });
    put_metadata(out, "text");
  });
}

PrCurve count_pr_curve(const Array& labels, const Array& scores, int thresholds) {
  require(thresholds >= 2, "pr_curve: expected at least 2 thresholds, got ", thresholds);
  require(labels.elements() == scores.elements(), "pr_curve: ", labels.elements(), " labels for ",
          scores.elements(), " scores");
  std::size_t n = thresholds;
  std::vector<double> positives(n), negatives(n);  // whose score is just below the next threshold
  for (std::int64_t i = 0; i < scores.elements(); ++i) {
    double score = scores.at(i), label = labels.at(i);
    require(score >= 0 && score <= 1, "pr_curve: score ", i, " is ", score, ", not within 0 to 1");
    require(label == 0 || label == 1, "pr_curve: label ", i, " is ", label, ", expected 0 or 1");
    (label == 1 ? positives : negatives)[score * (thresholds - 1)] += 1;
  }
  for (auto* counts : {&positives, &negatives})  // now: whose score is not below this one
    for (std::size_t i = n - 1; i > 0; --i) (*counts)[i - 1] += (*counts)[i];
  PrCurve out{positives, negatives, {}, {}};
  for (double found : negatives) out.true_negatives.push_back(negatives[0] - found);
  for (double found : positives) out.false_negatives.push_back(positives[0] - found);
  return out;
}

// tensorboard/plugins/pr_curve: rows of a float tensor [6, n], and n in the metadata. Quotients as
// computed there.
EventValue pr_curve_summary(std::string tag, const PrCurve& curve) {
  const std::size_t n = curve.true_positives.size();
  std::vector<float> rows;
  for (const auto* counts : {&curve.true_positives, &curve.false_positives, &curve.true_negatives,
                             &curve.false_negatives}) {
    require(n >= 2 && counts->size() == n, "pr_curve: expected as many counts of each kind, at ",
            "least 2, got ", n, " and ", counts->size());
    for (double count : *counts) rows.push_back(static_cast<float>(count));
  }
  auto add_quotients = [&](const std::vector<double>& others) {
    for (std::size_t i = 0; i < n; ++i) {
      double found = curve.true_positives[i];
      rows.push_back(static_cast<float>(found / std::max(1e-7, found + others[i])));
    }
  };
  add_quotients(curve.false_positives);  // precision
  add_quotients(curve.false_negatives);  // recall
  return with_tag(std::move(tag), [n, rows = std::move(rows)](WireWriter& out) {
    put_tensor(out, float_type, {6, n}, [&] { out.packed_floats(4, rows); });
    WireWriter content;
    content.varint(2, n);
    put_metadata(out, "pr_curves", content.release());
  });
}

namespace {

// tensorboard/plugins/hparams: all is in the metadata, the tensor is empty.
EventValue hparams(std::string tag, std::vector<std::byte> content) {
  return with_tag(std::move(tag), [content = std::move(content)](WireWriter& out) {
    put_tensor(out, float_type, {0}, [] {});
    put_metadata(out, "hparams", content);
  });
}

// google.protobuf.Value
void put_value(WireWriter& out, const HyperParameter& parameter) {
  if (const auto* number = std::get_if<double>(&parameter.value)) out.float64(2, *number);
  if (const auto* text = std::get_if<std::string>(&parameter.value)) out.text(3, *text);
  if (const auto* flag = std::get_if<bool>(&parameter.value)) out.varint(4, *flag ? 1 : 0);
}

}  // namespace

EventValue hyper_parameters_summary(HyperParameters parameters, double start_seconds) {
  WireWriter out;
  out.message(3, [&] {
    for (const auto& parameter : parameters)
      out.message(1, [&] {
        out.text(1, parameter.first);
        out.message(2, [&] { put_value(out, parameter.second); });
      });
    out.float64(5, start_seconds);
  });
  return hparams("_hparams_/session_start_info", out.release());
}

EventValue run_finished_summary(double end_seconds) {
  WireWriter out;
  out.message(4, [&] {
    out.varint(1, 1);  // STATUS_SUCCESS
    out.float64(2, end_seconds);
  });
  return hparams("_hparams_/session_end_info", out.release());
}

namespace {

constexpr double highest = std::numeric_limits<double>::max();

// The limits of the buckets in tensorflow/core/lib/histogram/histogram.cc.
std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(highest);
  std::vector<double> out;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) out.push_back(-*limit);
  out.push_back(0);
  out.insert(out.end(), positive.begin(), positive.end());
  return out;
}

const std::vector<double>& limits() {
  static const std::vector<double> all = make_limits();
  return all;
}

struct Histogram {
  double min = highest, max = -highest, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> counts = std::vector<double>(limits().size());

  void add(double value) {
    if (!std::isfinite(value)) return;
    auto bucket = std::upper_bound(limits().begin(), limits().end() - 1, value) - limits().begin();
    counts[bucket] += 1;
    min = std::min(min, value);
    max = std::max(max, value);
    count += 1;
    sum += value;
    sum_of_squares += value * value;
  }
};

// HistogramProto. As TensorFlow does, empty buckets that follow upon each other are joined; those
// outside are left out, since readers put the lowest and the highest value in place of the outer
// limits.
void put(WireWriter& out, const Histogram& histogram) {
  const auto& counts = histogram.counts;
  auto begin = std::find_if(counts.begin(), counts.end(), [](double count) { return count > 0; });
  auto end = std::find_if(counts.rbegin(), counts.rend(), [](double count) { return count > 0; });
  std::vector<double> kept_limits, kept_counts;
  for (auto count = begin; count < end.base(); ++count) {
    double limit = limits()[count - counts.begin()];
    if (*count == 0 && kept_counts.back() == 0) {
      kept_limits.back() = limit;
    } else {
      kept_limits.push_back(limit);
      kept_counts.push_back(*count);
    }
  }
  if (kept_counts.empty()) {
    kept_limits.push_back(highest);
    kept_counts.push_back(0);
  }
  out.float64(1, histogram.min);
  out.float64(2, histogram.max);
  out.float64(3, histogram.count);
  out.float64(4, histogram.sum);
  out.float64(5, histogram.sum_of_squares);
  out.packed_doubles(6, kept_limits);
  out.packed_doubles(7, kept_counts);
}

}  // namespace

EventValue histogram_summary(std::string tag, Array values) {
  require(!tag.empty() && values.defined(), "histogram_summary: no ",
          tag.empty() ? "tag" : "values for `" + tag + "`");
  return [tag = std::move(tag), values = std::move(values)](WireWriter& out) {
    Histogram histogram;
    for (std::int64_t i = 0; i < values.elements(); ++i) histogram.add(values.at(i));
    if (histogram.count == 0) histogram.min = histogram.max = 0;
    out.text(1, tag);
    out.message(5, [&] { put(out, histogram); });
  };
}

}  // namespace belfry::hooks
