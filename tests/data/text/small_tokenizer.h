#pragma once
// A tokenizer.json that fits on a page, and changes of it.

#include <string>

#include "belfry/data/text/tokenizer.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

/// The letters of "hello world" and some merges of them; bytes of other characters have no token.
inline std::string small_json() {
  return R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [{"id": 18, "content": "<end>", "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false, "special": true}],
 "normalizer": null,
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
 "post_processor": null,
 "decoder": {"type": "ByteLevel"},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
  "vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "w": 5, "r": 6, "d": 7, "ll": 8, "he": 9,
            "hell": 10, "hello": 11, "Ġw": 12, "or": 13, "Ġwor": 14, "ld": 15, "Ã": 16, "©": 17},
  "merges": ["l l", "h e", ["he", "ll"], "hell o", "Ġ w", "o r", "Ġw or", ["l", "d"]]}})";
}

/// The same with the first `from` replaced.
inline std::string changed(const std::string& from, const std::string& to,
                           std::string json = small_json()) {
  const std::size_t at = json.find(from);
  require(at != json.npos, "there is no ", from);
  return json.replace(at, from.size(), to);
}

inline Tokenizer small(const std::string& from = "", const std::string& to = "") {
  return Tokenizer::from_json(changed(from, to));
}

}  // namespace belfry::data
