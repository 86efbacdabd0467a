// Dates as people write them, "Monday, the 3rd of March, 1997" or "3 Mar 97", become "1997-03-03":
// a recurrent encoder reads the characters, and a recurrent decoder that attends to them writes the
// date, a character at a time. How each date is written is drawn at random.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/program.h"

using namespace belfry;

// ---- data: {"written" i64 [characters], "date" i64 [10]}

constexpr std::int64_t days = 36'525;  // 1950 to 2049, so that a year of two digits is one year
constexpr std::int64_t written_symbols = 96;  // ASCII that can be seen, from 1 on; 0 is padding
constexpr std::string_view date_symbols = "0123456789-";
constexpr std::int64_t start = date_symbols.size();  // stands before a date's first character
constexpr std::int64_t date_length = 10;

struct Date {
  unsigned day, month;
  int year;
  unsigned weekday;  // 0 is Sunday
};

// Days are numbers from 0 on.
std::int64_t number_of(const Features& day) { return day.at("value").span<std::int64_t>()[0]; }

Date date_of(std::int64_t number) {
  std::chrono::sys_days day = std::chrono::year(1950) / 1 / 1;
  day += std::chrono::days(number);
  std::chrono::year_month_day parts(day);
  return {unsigned(parts.day()), unsigned(parts.month()), int(parts.year()),
          std::chrono::weekday(day).c_encoding()};
}

std::string two_digits(int x) { return concat(x / 10 % 10, x % 10); }

std::string ordinal(unsigned x) {
  constexpr std::array<std::string_view, 4> suffixes = {"th", "st", "nd", "rd"};
  return concat(x, suffixes[x / 10 == 1 || x % 10 > 3 ? 0 : x % 10]);
}

std::string as_written(const Date& date, PhiloxStream& random) {
  constexpr std::array<std::string_view, 12> months = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  constexpr std::array<std::string_view, 7> weekdays = {
      "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
  auto either = [&](std::string a, std::string b) { return random.flip(0.5f) ? a : b; };
  auto [d, m, y, w] = date;
  std::string day = either(concat(d), two_digits(d)), month = either(concat(m), two_digits(m));
  std::string year = either(concat(y), two_digits(y));
  std::string_view name = months[m - 1].substr(0, random.flip(0.5f) ? 3 : 9);
  std::string weekday = either(concat(weekdays[w], ", "), concat(weekdays[w].substr(0, 3), " "));
  std::string before = either("", weekday);
  std::array<std::string, 8> forms = {concat("the ", ordinal(d), " of ", name, ", ", y),
                                      concat(day, " ", name, " ", year),
                                      concat(name, " ", ordinal(d), " ", year),
                                      concat(day, "/", month, "/", year),
                                      concat(day, ".", month, ".", year),
                                      concat(name, " ", day, ", '", two_digits(y)),
                                      concat(day, "-", name, "-", year),
                                      concat(y, "/", month, "/", day)};
  return before + forms[random.below(forms.size())];
}

Features pair(Features day, PhiloxStream& random) {
  Date date = date_of(number_of(day));
  std::vector<std::int64_t> from, to;
  for (char c : as_written(date, random)) from.push_back(c - ' ' + 1);
  for (char c : concat(date.year, "-", two_digits(date.month), "-", two_digits(date.day)))
    to.push_back(date_symbols.find(c));
  return {{"written", Array::of(std::span<const std::int64_t>(from), {std::ssize(from)})},
          {"date", Array::of(std::span<const std::int64_t>(to), {std::ssize(to)})}};
}

// Few lengths, as each of a batch makes a plan of its own.
const data::PaddedBatchOptions padding{.multiple_of = {{"written", 4}},
                                       .lengths = {{"written", "written_length"}}};

// Batches of about the same length, so that little of them is padding.
data::Transform by_length(std::int64_t size) {
  return data::bucket_by_length(
      "written", {.boundaries = {13, 21}, .batch_sizes = {size, size, size}, .padded = padding});
}

// ---- model

constexpr std::int64_t units = 64;  // of the encoder, each way; the decoder has twice as many

struct Decoded {
  Tensor logits;  // [n, t, date_symbols]: of the characters behind
  Tensor state;   // [n, 2 units]: behind the last
};

// Goes on behind `characters` [n, t] of the dates, with a look at what the encoder made of each
// character that was written: `memory` [n, tw, 2 units].
Decoded decode(const Scope& s, Tensor characters, Tensor state, Tensor memory, Tensor lengths) {
  Tensor x = embedding(s / "embedding", characters, {.rows = start + 1, .width = 16});
  RecurrentResult said = gru(s / "gru", x, {.units = 2 * units, .initial = {{.h = state}}});
  auto as_heads = [](Tensor x) { return reshape(x, {x.size(0), x.size(1), 1, x.size(2)}); };
  Tensor query = dense(s / "query", said.y, {.units = 2 * units}), keys = as_heads(memory);
  Tensor seen = scaled_dot_product_attention(s / "attention", as_heads(query), keys, keys,
                                             {.lengths = lengths});
  Tensor both = concat({said.y, reshape(seen, said.y.shape())}, -1);
  both = tanh(dense(s / "both", both, {.units = 2 * units}));
  return {dense(s / "logits", both, {.units = start}), said.states[0].h};
}

EstimatorSpec translate(Scope s, const Batch& batch, Mode mode, const Schedule& rate) {
  Tensor lengths = batch["written_length"];
  Tensor x = embedding(s / "embedding", batch["written"], {.rows = written_symbols, .width = 32});
  RecurrentResult read =
      gru(s / "encoder", x, {.units = units, .bidirectional = true, .lengths = lengths});
  Tensor state = tanh(dense(s / "bridge", read.last, {.units = 2 * units}));
  Scope decoder = (s / "decoder").shared();
  auto repeated = [&](double value, std::int64_t steps) {
    return broadcast_to(constant(s, value, DType::i64), {batch.rows(), steps});
  };
  Tensor first = repeated(start, 1);
  EstimatorSpec spec;
  if (mode != Mode::predict) {  // the characters before each one are the true ones
    Tensor date = batch["date"];
    Tensor before =
        concat({first, slice(date, {.begin = {0, 0}, .size = {-1, date_length - 1}})}, 1);
    Tensor logits = decode(decoder, before, state, read.y, lengths).logits;
    spec.loss = mean(sparse_softmax_cross_entropy(logits, date));
    spec.train = adam({.learning_rate = rate});
    if (mode == Mode::train) return spec;
  }
  // The character before each one is that which was likeliest.
  auto likeliest = [&](const Scope& s, const Tensor&, std::span<const Tensor> states) {
    Decoded next = decode(s, states[0], states[1], read.y, lengths);
    Tensor character = argmax(next.logits, -1);  // [n, 1]
    return std::pair(reshape(character, {-1}), std::vector{character, next.state});
  };
  // The steps read nothing but states: zeros stand for their input.
  Tensor said = scan(decoder, likeliest, repeated(0, date_length), {first, state}).y;  // [n, 10]
  if (mode == Mode::predict) {
    spec.predictions = {{"date", said}, {"written", batch["written"]}};
  } else {
    Tensor right = min(cast(equal(said, batch["date"]), DType::f32), {.axes = {1}});  // [n]
    spec.metrics = {{"exact_match", mean_metric(right)}};
  }
  return spec;
}

// ---- what comes out

void show(std::int64_t step, const Features& translated) {
  std::string out = concat("\n-- after step ", step, ":\n");
  for (std::int64_t row = 0; row < translated.at("date").shape()[0]; ++row) {
    Array written = translated.at("written").row(row), date = translated.at("date").row(row);
    for (std::int64_t c : written.span<std::int64_t>())
      if (c > 0) out += ' ' + c - 1;
    out += " -> ";
    for (std::int64_t c : date.span<std::int64_t>()) out += date_symbols[c];
    out += '\n';
  }
  std::fputs(out.c_str(), stderr);
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "Translates dates as people write them, by an encoder and a decoder with attention.",
      .max_steps = 1000,
      .batch_size = 64,
      .own = {{"samples", {"200", "Steps between two samples of translations"}}}};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    // Every tenth day is held out, in whatever form it is written.
    auto is_for_training = [](const Features& f) { return number_of(f) % 10 != 0; };
    Dataset train = data::range(days) | data::shuffle(days, {.seed = o.run.seed})
                    | data::filter(is_for_training) | data::repeat()
                    | data::map(pair, {.seed = o.run.seed}) | by_length(o.batch_size)
                    | data::prefetch();
    Dataset held_out = data::range(days) | data::shard(10, 0) | data::map(pair, {.seed = 1});
    Dataset some = held_out | data::shard(400, 17) | data::padded_batch(10, padding);
    Schedule rate = cosine_decay({.initial = 3e-3, .decay_steps = o.max_steps});
    ModelFn model = [rate](Scope s, const Batch& batch, Mode mode) {
      return translate(s, batch, mode, rate);
    };
    Estimator estimator({.model_fn = model, .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{
        .max_steps = o.max_steps,
        .hooks = {hooks::progress(),
                  hooks::samples(estimator, some,
                                 {.every = Steps(o.whole_number("samples")), .receive = show})}};
    if (o.plan) return examples::print_plan(o, estimator, train, training);
    if (o.summary) return examples::print_summary(estimator, train);
    TrainResult trained = estimator.train(train, training);
    EvalResult found = estimator.evaluate(held_out | by_length(256));
    return examples::Results{{"exact_match", found.at("exact_match")},
                             {"loss", found.at("loss")},
                             {"global_step", found.at("global_step")},
                             {"dates_per_second", trained.examples_per_second}};
  });
}
