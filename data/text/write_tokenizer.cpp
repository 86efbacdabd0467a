
#include "belfry/data/text/tokenizer_content.h"
#include "belfry/framework/base/json_text.h"
#include "belfry/framework/base/text.h"

namespace belfry::data {
namespace {

constexpr std::string_view byte_level =
    R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";

}  // namespace

// The text is put together here: a document that keeps the order of members looks through all of
// them for each that is added.
std::string tokenizer_json(const std::vector<std::string>& names,
                           const std::vector<std::pair<std::int32_t, std::int32_t>>& merges,
                           std::size_t special_tokens) {
  std::vector<std::string> added, vocabulary, pairs;
  auto name = [&](std::int32_t token) { return json_text(names[token]); };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i < special_tokens)
      added.push_back(concat("    {\"id\": ", i, ", \"content\": ", json_text(names[i]),
                             ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                             "\"normalized\": false, \"special\": true}"));
    vocabulary.push_back(concat("      ", json_text(names[i]), ": ", i));
  }
  for (const auto& [left, right] : merges)
    pairs.push_back(concat("      [", name(left), ", ", name(right), "]"));
  auto lines = [](const std::vector<std::string>& all) {
    return all.empty() ? std::string() : "\n" + join(all, ",\n") + "\n";
  };
  return concat(R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [)",
                lines(added), R"(],
  "normalizer": null,
  "pre_tokenizer": )",
                byte_level, R"(,
  "post_processor": null,
  "decoder": )",
                byte_level, R"(,
  "model": {
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {)",
                lines(vocabulary), R"(},
    "merges": [)",
                lines(pairs), R"(]
  }
}
)");
}

}  // namespace belfry::data
