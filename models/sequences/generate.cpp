#include "belfry/models/sequences/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::models {
namespace {

using Tokens = std::vector<std::int32_t>;

void check(std::string_view name, const GenerateOptions& o) {
  constexpr std::int64_t most = 1 << 30;
  auto within = [&](std::string_view option, std::int64_t x, std::int64_t least) {
    require(x >= least && x <= most, name, ": ", option, " must be ", least, " to ", most, ", got ",
            x);
  };
  within("tokens", o.tokens, 1);
  within("chunk", o.chunk, 1);
  within("top_k", o.top_k, 0);
  within("places", o.places, 0);
  require(o.temperature >= 0 && std::isfinite(o.temperature), name,
          ": temperature must be at least 0, got ", o.temperature);
  require(o.top_p > 0 && o.top_p <= 1, name, ": top_p must be above 0 and at most 1, got ",
          o.top_p);
}

/// Rows that a model goes on with.
class Generation {
 public:
  Generation(const GptOptions& model, const PredictBatch& predict,
             const std::vector<Tokens>& prompts, const GenerateOptions& o)
      : model_(model),
        predict_(predict),
        prompts_(prompts),
        o_(o),
        rows_(std::ssize(prompts)),
        ended_(prompts.size()),
        key_(philox_key(o.seed, "generate")) {
    for (const Tokens& prompt : prompts) {
      auto row = &prompt - prompts.data();
      require(!prompt.empty(), "generate: row ", row,
              " has no prompt; begin with a token that stands for a beginning");
      for (std::int32_t token : prompt)
        require(token >= 0 && token < model.vocabulary, "generate: token ", token, " in row ", row,
                " is outside 0..", model.vocabulary - 1);
      longest_ = std::max<std::int64_t>(longest_, std::ssize(prompt));
    }
    std::int64_t needed = longest_ + o.tokens;
    bool bounded = model.block == GptBlock::gpt2;
    require(!bounded || needed <= model.context, "generate: a prompt of ", longest_, " and ",
            o.tokens, " new tokens are more than the model's context, ", model.context);
    places_ = o.places > 0 ? o.places : (needed + 63) / 64 * 64;
    if (bounded) places_ = std::min(places_, model.context);
    require(needed <= places_, "generate: a prompt of ", longest_, " and ", o.tokens,
            " new tokens are more than the option places, ", places_);
  }

  std::vector<Tokens> run() {
    for (const auto& [name, type] : gpt_step_inputs(model_, 1, places_))
      if (name.starts_with("past_")) cache_.set(name, Array::zeros(with_rows(type.shape)));
    Tokens last = read_prompts();
    std::vector<Tokens> out(prompts_.size());
    for (std::int64_t i = 0;; ++i) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        if (ended_[row]) continue;
        out[row].push_back(last[row]);
        if (o_.each) o_.each(row, last[row]);
        ended_[row] = last[row] == o_.end || i + 1 == o_.tokens;
      }
      if (std::ranges::find(ended_, false) == ended_.end()) return out;
      last = next(last, i);
    }
  }

 private:
  Shape with_rows(const Shape& row) const {
    std::vector<std::int64_t> sizes{rows_};
    sizes.insert(sizes.end(), row.begin(), row.end());
    return Shape(sizes);
  }

  /// The first new token of each row. Prompts are taken in chunks: those of shorter rows go on with
  /// anything, behind what counts, where new tokens will stand.
  Tokens read_prompts() {
    Tokens first(prompts_.size());
    std::int64_t chunk = longest_ > 1 ? o_.chunk : 1;
    for (std::int64_t begin = 0; begin < longest_; begin += chunk) {
      Array tokens({rows_, chunk}, DType::i32), positions({rows_, chunk}, DType::i32),
          lengths({rows_}, DType::i32);
      std::int32_t *token = tokens.span<std::int32_t>().data(),
                   *position = positions.span<std::int32_t>().data();
      for (std::int64_t row = 0; row < rows_; ++row) {
        std::int64_t size = std::ssize(prompts_[row]);
        for (std::int64_t i = begin; i < begin + chunk; ++i) {
          *token++ = i < size ? prompts_[row][i] : 0;
          *position++ = static_cast<std::int32_t>(std::min(i, places_ - 1));
        }
        lengths.span<std::int32_t>()[row] =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(size - begin, 1, chunk));
      }
      Array logits = step(tokens, positions, lengths);
      for (std::int64_t row = 0; row < rows_; ++row) {
        std::int64_t size = std::ssize(prompts_[row]);
        if (begin < size && size <= begin + chunk) first[row] = draw(logits, row, 0);
      }
    }
    return first;
  }

  /// The tokens behind these, which are the i-th new ones.
  Tokens next(const Tokens& last, std::int64_t i) {
    Array positions({rows_, 1}, DType::i32), lengths({rows_}, DType::i32);
    for (std::int64_t row = 0; row < rows_; ++row) {
      positions.span<std::int32_t>()[row] =
          static_cast<std::int32_t>(std::ssize(prompts_[row]) + i);
      lengths.span<std::int32_t>()[row] = 1;
    }
    Array logits = step(Array::of(std::span(last), {rows_, 1}), positions, lengths);
    Tokens out = last;
    for (std::int64_t row = 0; row < rows_; ++row)
      if (!ended_[row]) out[row] = draw(logits, row, i + 1);
    return out;
  }

  /// Predicts one batch of tokens, whose keys and values the cache has then: their logits.
  Array step(Array tokens, Array positions, Array lengths) {
    Features batch = std::move(cache_);
    batch.set(model_.token, std::move(tokens));
    batch.set(model_.position, std::move(positions));
    batch.set(model_.length, std::move(lengths));
    Features out = predict_(batch);
    cache_.clear();
    for (const auto& [name, past] : batch) {
      if (!name.starts_with("past_")) continue;
      std::string now = name.substr(5);
      require(out.contains(now), "generate: the model does not predict `", now,
              "`; let it predict all that gpt() does");
      cache_.set(name, std::move(out.at(now)));
    }
    TensorType expected{{rows_, model_.vocabulary}, DType::f32};
    Array logits = out.at("logits");
    require(logits.type() == expected, "generate: the model's logits are ", logits.type(),
            ", expected ", expected, " for the option vocabulary");
    return logits;
  }

  std::int32_t draw(const Array& logits, std::int64_t row, std::int64_t place) const {
    double u = PhiloxStream(philox_key(key_.value, row), place).uniform_double();
    std::span<const float> all = logits.span<float>();
    return with_context(concat("row ", row, ", new token ", place), [&] {
      return sample_token(all.subspan(row * model_.vocabulary, model_.vocabulary), u, o_);
    });
  }

  const GptOptions& model_;
  const PredictBatch& predict_;
  const std::vector<Tokens>& prompts_;
  const GenerateOptions& o_;
  std::int64_t rows_, longest_ = 0, places_ = 0;
  std::vector<bool> ended_;
  PhiloxKey key_;
  Features cache_;
};

}  // namespace

std::int32_t sample_token(std::span<const float> logits, double u, const GenerateOptions& o) {
  check("sample_token", o);
  require(!logits.empty(), "sample_token: there are no logits");
  auto nan = std::ranges::find_if(logits, [](float x) { return std::isnan(x); });
  require(nan == logits.end(), "sample_token: the logit of token ", nan - logits.begin(),
          " is NaN");
  auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::int32_t likeliest = *std::ranges::min_element(tokens, likelier);
  require(std::isfinite(logits[likeliest]), "sample_token: the highest logit, of token ", likeliest,
          ", is ", logits[likeliest]);
  if (o.temperature == 0) return likeliest;
  if (o.top_k > 0 && o.top_k < std::ssize(tokens)) {
    std::ranges::nth_element(tokens, tokens.begin() + (o.top_k - 1), likelier);
    tokens.resize(o.top_k);
  }
  if (o.top_k > 0 || o.top_p < 1) std::ranges::sort(tokens, likelier);
  std::vector<double> sums;  // of weights so far
  for (std::int32_t token : tokens)
    sums.push_back((sums.empty() ? 0 : sums.back())
                   + std::exp((double{logits[token]} - logits[likeliest]) / o.temperature));
  if (o.top_p < 1) {
    auto last = std::ranges::lower_bound(sums, o.top_p * sums.back());
    sums.erase(last + 1, sums.end());
  }
  auto drawn = std::ranges::upper_bound(sums, u * sums.back()) - sums.begin();
  return tokens[std::min<std::int64_t>(drawn, std::ssize(sums) - 1)];
}

std::vector<std::vector<std::int32_t>> generate(
    const GptOptions& model, const PredictBatch& predict,
    const std::vector<std::vector<std::int32_t>>& prompts, const GenerateOptions& options) {
  check("generate", options);
  if (prompts.empty()) return {};
  return Generation(model, predict, prompts, options).run();
}

}  // namespace belfry::models
