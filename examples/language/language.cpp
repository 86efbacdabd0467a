// A small language model that learns to write, a character at a time, from the text files that it
// is given; it shows what it writes on the way. Without --data_dir, from the licences that Debian
// ships.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/program.h"

using namespace belfry;

// Characters are tokens: those of ASCII that can be seen, with 0 for a new line. All else is a
// space, and so are several.
constexpr std::int64_t vocabulary = 96;

std::vector<std::int32_t> read_text(const std::string& folder) {
  std::vector<std::int32_t> tokens;
  for (const std::string& path : data::list_files(folder + "/*")) {
    for (char c : read_file(path)) {
      std::int32_t token = c == '\n' ? 0 : c > ' ' && c <= '~' ? c - ' ' + 1 : 1;
      if (token == 1 && !tokens.empty() && tokens.back() <= 1) continue;
      tokens.push_back(token);
    }
  }
  return tokens;
}

char character(std::int64_t token) {
  return token == 0 ? '\n' : static_cast<char>(token - 1 + ' ');
}

// Rows of `context` tokens, each with the tokens that come next; one begins at every `stride`.
Dataset windows(std::vector<std::int32_t> text, std::int64_t context, std::int64_t stride) {
  std::int64_t count = std::max<std::int64_t>((std::ssize(text) - context - 1) / stride, 0);
  auto shared = std::make_shared<const std::vector<std::int32_t>>(std::move(text));
  return data::indexed(count, [=](std::int64_t index, Features& out) {
    std::span<const std::int32_t> all(*shared), from = all.subspan(index * stride, context + 1);
    out.set("token", Array::of(from.first(context), {context}));
    out.set("label", Array::of(from.last(context), {context}));
  });
}

// Goes on from `text`, half a context at a time: the model has never seen longer rows.
std::string write_on(Estimator& estimator, const models::GptOptions& gpt,
                     std::vector<std::int32_t> text, std::size_t characters) {
  LivePredictor model = estimator.predictor();
  std::int64_t half = gpt.context / 2;
  std::string out;
  while (out.size() < characters) {
    std::vector<std::int32_t> prompt(text.end() - half, text.end());
    auto written = models::generate(gpt, model, {prompt},
                                    {.tokens = half, .temperature = 0.6, .seed = out.size()});
    for (std::int32_t token : written[0]) out += character(token);
    text.insert(text.end(), written[0].begin(), written[0].end());
  }
  return out;
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about = "A language model that learns to write, a character at a time.",
      .data = "text files; by default the licences that Debian ships",
      .data_dir = "/usr/share/common-licenses",
      .max_steps = 1500,
      .batch_size = 16,
      .own = {{"context", {"128", "Characters that the model sees at once"}},
              {"depth", {"4", "Blocks"}},
              {"width", {"128", "Numbers for each character; a multiple of 64"}},
              {"samples", {"500", "Steps between two samples"}}}};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    std::int64_t context = o.whole_number("context"), width = o.whole_number("width");
    std::vector<std::int32_t> text = read_text(o.data_dir);
    std::int64_t held_out = std::ssize(text) / 20;  // its end
    require(context >= 2, "--context: ", context, " characters; expected 2 at least");
    require(held_out > context, o.data_dir, ": ", text.size(), " characters; expected ",
            20 * (context + 1), " at least");
    std::vector<std::int32_t> end(text.end() - held_out, text.end());
    text.resize(text.size() - held_out);
    std::vector<std::int32_t> start(end.begin(), end.begin() + context);
    Dataset train = windows(text, context, 1) | data::shuffle(1 << 20, {.seed = o.run.seed})
                    | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Dataset test = windows(end, context, context) | data::batch(o.batch_size);
    models::GptOptions gpt{.vocabulary = vocabulary,
                           .context = context,
                           .depth = o.whole_number("depth"),
                           .width = width,
                           .heads = width / 32,
                           .block = models::GptBlock::llama,
                           .dropout = 0};
    gpt.optimizer = adamw({.learning_rate = one_cycle({.peak = 3e-3, .steps = o.max_steps})});
    Estimator estimator({.model_fn = models::gpt(gpt), .model_dir = o.model_dir, .run = o.run});
    TrainOptions training{.max_steps = o.max_steps, .hooks = {hooks::progress()}};
    if (o.plan) return examples::print_plan(o, estimator, train, training);
    if (o.summary) return examples::print_summary(estimator, train);
    std::int64_t every = o.whole_number("samples");
    TrainResult trained;
    for (std::int64_t step = 0; step < o.max_steps && !trained.signal; step += every) {
      training.max_steps = std::min(step + every, o.max_steps);
      trained = estimator.train(train, training);
      std::string written = write_on(estimator, gpt, start, 300);
      std::fprintf(stderr, "\n-- after step %lld:\n%s\n\n",
                   static_cast<long long>(trained.global_step), written.c_str());
    }
    EvalResult found = estimator.evaluate(test);
    return examples::Results{{"perplexity", found.at("perplexity")},
                             {"bits_per_character", found.at("loss_per_token") / std::log(2.0)},
                             {"global_step", static_cast<double>(trained.global_step)},
                             {"characters_per_second", trained.examples_per_second * context}};
  });
}
