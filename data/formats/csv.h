#pragma once
// CSV: text of records with fields between commas, as RFC 4180 describes it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/formats/vocabulary.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/tensor/features.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// The type of the values in a column: see CsvColumn.
enum class CsvType { text, f32, f64, i32, i64, boolean };

constexpr auto names_of(CsvType) { return name_list("text", "f32", "f64", "i32", "i64", "bool"); }

/// One field of each record, and the feature it becomes.
struct CsvColumn {
  std::string name;  ///< of the feature, and of the field in the header
  /// Numbers and booleans become scalars of that type, text becomes u8 [length]. A number is
  /// decimal, without a plus sign; floats may be "inf" or "nan"; a boolean is true, false (in any
  /// case), 1 or 0. Spaces and tabs around them do not count. Floats are rounded to the nearest
  /// that the type has, tiny ones to 0; a number that is too large for its type is an Error.
  CsvType type = CsvType::text;
  /// Which field, from 0; the first of several. -1: with a header the one of that name, without one
  /// the field after that of the column before.
  int index = -1;
  /// The text that an empty field stands for. None: an empty field is a text like any other in a
  /// column of text, and an Error in other columns.
  std::optional<std::string> default_value = {};
  /// Text only: the words that may occur. The feature is i64 [], the word's index here.
  std::vector<std::string> vocabulary = {};
  /// The index of all words that are not in the vocabulary. None: they are an Error.
  std::optional<std::int64_t> unknown = {};
  /// Text only: words that are not in the vocabulary, which may be empty, are spread over so many
  /// indices behind it by a hash that never changes. 0: as said above.
  std::int64_t buckets = 0;
  /// Not for text: how many fields, from this one on, make one feature [width], say the pixels of
  /// an image. 0: one, which is a scalar.
  std::int64_t width = 0;
  /// Not for text, and with a header: the fields that make one feature [fields.size()], which need
  /// not lie side by side. Empty: as said above.
  std::vector<std::string> fields = {};
};

/// Options of CsvReader.
struct CsvOptions {
  bool header = true;               ///< the first record names the fields
  char delimiter = ',';             ///< between the fields of a record
  bool skip_initial_space = false;  ///< spaces after a delimiter are no part of the field
  char comment = '\0';  ///< lines that begin with it are skipped; '\0': there are no comments
  /// A record that is longer is an Error, so that a forgotten quote does not swallow the rest.
  std::int64_t max_record_bytes = 1 << 20;
};

/// The place of a record in its file.
struct CsvPosition {
  std::int64_t offset = 0;                              ///< in bytes
  std::int64_t line = 1;                                ///< from 1
  bool operator==(const CsvPosition&) const = default;  ///< both are equal
};

/// Turns CSV text, which may come in pieces, into features. Fields may stand in quotes, within
/// which delimiters and line ends are text and a doubled quote is one quote; a quote anywhere else
/// in a field is an Error, and so is text after the closing quote. Lines end with LF or CRLF, the
/// last one may lack it. A byte order mark at the beginning and empty lines are skipped (one empty
/// field alone is written ""). All records must have as many fields as the header, or else the
/// first.
///
/// Every Error names the data, the line on which the record begins and the byte offset. It costs
/// one record: the next call goes on with the following one, or with the following line where
/// quotes leave unclear where the record ends. Only an Error about the header is final: the rest of
/// the data is then skipped. Thread rules: used by one thread at a time.
class CsvReader {
 public:
  /// `name` is what errors call the data: a path. Error: no columns, a name twice, a default that
  /// is no value of its type, a vocabulary or buckets of a column that is not text, a word twice,
  /// buckets below 0 or beside `unknown`, a width below 0, above 2^24 or beside `fields`, either of
  /// them for text, `fields` without a header or beside an index, an index below -1, delimiter or
  /// comment being a quote, a line end or each other, a limit below 1.
  explicit CsvReader(std::vector<CsvColumn> columns, CsvOptions options = {},
                     std::string name = "CSV data");

  /// Takes the next record off the front of `text`, together with the header and whatever else is
  /// before it, and returns true with its features in `out`, whose memory is used again. Returns
  /// false when `text` ends first: call again with what is now left in `text` and more behind it,
  /// or when it all was there (`at_end`), stop. `text` begins at position(). Never asks for more
  /// than max_record_bytes.
  bool next(std::string_view& text, bool at_end, Features& out);

  /// As next(), but passes over the record: only its number of fields is looked at.
  bool skip(std::string_view& text, bool at_end);

  /// Only takes the header, if that is still to come: true when it has been read or there is none.
  bool read_header(std::string_view& text, bool at_end);

  /// Where the text left by the last call begins: at a record, once a call has returned true or
  /// thrown.
  CsvPosition position() const { return position_; }

  /// Goes on elsewhere: the next text begins at `position`, a value of position() from before. The
  /// header, if there is one, must have been read.
  void seek(CsvPosition position);

 private:
  enum class Split { complete, incomplete, faulty };
  struct Field {
    std::string text;
    std::size_t offset = 0;  // from where the record begins
  };
  struct Column {
    CsvColumn column;
    std::vector<std::size_t> fields = {};
    Vocabulary vocabulary = {};
  };

  /// How far the record at the text's front has been split, when that did not end with it.
  struct Scan {
    enum class State { before_field, plain, quoted, after_quotes };
    State state = State::before_field;
    std::size_t at = 0;       // from where the record begins
    std::size_t opening = 0;  // of the quote that the field begins with
  };

  bool take_record(std::string_view& text, bool at_end);
  bool skip_lines(std::string_view& text, bool at_end);
  bool drop_line(std::string_view& text, bool at_end);
  void consume(std::string_view& text, std::size_t bytes);

  Split split(std::string_view text, bool at_end);
  Split read_field(std::string_view text, bool at_end);
  bool begin_field(std::string_view text, bool at_end);
  void read_plain(std::string_view text);
  Split read_quoted(std::string_view text, bool at_end);
  Split end_field(std::string_view text, bool at_end);
  Split fault(std::size_t offset, std::string_view what);
  Field& add_field(std::size_t offset);

  void bind_to_header();
  void bind_to_positions();
  std::size_t find_in_header(const std::string& name) const;
  void check_field_count();
  void convert(const Column& column, Array& out) const;
  void convert(const Column& column, const Field& field, std::size_t field_index, Array& out) const;

  std::vector<Column> columns_;
  CsvOptions options_;
  std::string name_;
  CsvPosition position_;       // of the text's front
  CsvPosition record_;         // of the record last taken
  std::vector<Field> fields_;  // the first field_count_ are in use
  std::size_t field_count_ = 0;
  Scan scan_;
  std::size_t record_bytes_ = 0;
  std::size_t expected_fields_ = 0;  // 0: not known yet
  bool in_comment_ = false;          // the text begins within one
  std::string fault_;                // thrown once the line it is about has passed
  bool bound_ = false;               // columns_ know their fields
  bool unusable_ = false;            // the header was wrong
};

}  // namespace belfry::data
