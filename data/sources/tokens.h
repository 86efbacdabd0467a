#pragma once
// Rows of tokens for language models.

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "belfry/data/combine/combine.h"
#include "belfry/data/dataset.h"
#include "belfry/data/formats/token_file.h"
#include "belfry/data/sources/files.h"

namespace belfry::data {

/// Options of token_files().
struct TokenFilesOptions {
  std::int64_t length = 1024;  ///< tokens in a row
  std::int64_t stride = 0;     ///< from one row's first token to the next one's; 0: `length`
  StoredToken stored = StoredToken::u16;  ///< how each file holds a token
  std::int64_t header_bytes = 0;          ///< before the first token of each file
  std::string token = "token";            ///< the feature with a row's tokens
  std::string label = "label";            ///< the feature with those behind each
};

/// {"token" i32 [length], "label" i32 [length]}: row i of a file begins at its token i * stride,
/// and the labels are the same row one token further on. A row takes length + 1 tokens of one file;
/// those left at its end are no row.
///
/// Random access: shuffle() of all rows permutes their numbers and needs no buffer, and pipelines
/// that share them get every n-th row. A row is read when it is asked for, by one read of the file
/// where it is short; up to 64 files stay open. A position holds a checksum of the files' names and
/// numbers of rows.
///
/// Error: no files, one that cannot be read, whose tokens are not whole or too few for one row, a
/// length or stride below 1, names that are empty or equal. In place of a row, naming file and
/// offset: a token above 2^31 - 1, a file that was cut short.
Dataset token_files(std::vector<std::string> paths, TokenFilesOptions options = {});
/// The files that match a pattern, sorted: see list_files().
template <std::convertible_to<std::string> Pattern>
Dataset token_files(const Pattern& pattern, TokenFilesOptions options = {}) {
  return token_files(list_files(pattern), std::move(options));
}

/// The rows of the file that {"path"} names, for interleave(): the files come in another order each
/// epoch, and a few are read at once, each from its beginning to its end.
///
///   files(list_files("train-*.bin")) | shuffle(1000) | interleave(read_token_file())
MakeDataset read_token_file(TokenFilesOptions options = {});

}  // namespace belfry::data
