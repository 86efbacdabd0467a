#include "belfry/data/formats/csv.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "belfry/data/formats/csv_value.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// 0 where no line ends. A CR at the very end is none either, and so a fault unless more follows.
std::size_t line_end(std::string_view text, std::size_t at) {
  if (text[at] == '\n') return 1;
  return text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 0;
}

bool is_special(char c) { return c == '"' || c == '\n' || c == '\r'; }

void check(const CsvOptions& o) {
  require(!is_special(o.delimiter) && !is_special(o.comment) && o.delimiter != o.comment,
          "csv: delimiter and comment must differ and be neither quote nor line end");
  require(o.max_record_bytes >= 1, "csv: max_record_bytes must be at least 1, got ",
          o.max_record_bytes);
}

void check_several(const CsvColumn& column, const CsvOptions& o) {
  constexpr std::int64_t most = 1 << 24;
  require(column.width >= 0 && column.width <= most, "csv: the width of column `", column.name,
          "` is ", column.width, ", expected 0 to ", most);
  require(column.type != CsvType::text || (column.width == 0 && column.fields.empty()),
          "csv: column `", column.name, "` is text, which makes a feature of one field only");
  require(column.fields.empty() || (o.header && column.width == 0 && column.index == -1),
          "csv: column `", column.name,
          "` has .fields, which name all there are in the header: they go with neither .width nor "
          ".index nor .header = false");
}

Vocabulary vocabulary_of(const CsvColumn& column) {
  require(column.type == CsvType::text || (column.vocabulary.empty() && column.buckets == 0),
          "csv: column `", column.name, "` has a vocabulary or buckets but is of type ",
          column.type, "; only text can have them");
  return with_context(concat("csv: column `", column.name, "`"), [&] {
    return Vocabulary(column.vocabulary, column.unknown, column.buckets);
  });
}

}  // namespace

CsvReader::CsvReader(std::vector<CsvColumn> columns, CsvOptions options, std::string name)
    : options_(options), name_(std::move(name)) {
  check(options_);
  require(!columns.empty(), "csv: no columns are asked for");
  for (CsvColumn& column : columns) {
    for (const Column& other : columns_)
      require(other.column.name != column.name, "csv: two columns are named `", column.name, "`");
    require(column.index >= -1, "csv: the index of column `", column.name, "` is ", column.index,
            ", expected a field's number from 0, or -1");
    check_several(column, options_);
    Vocabulary vocabulary = vocabulary_of(column);
    if (column.default_value) {
      Array scratch;
      with_context(concat("the default value of column `", column.name, "`"),
                   [&] { convert_field(column, vocabulary, *column.default_value, 0, scratch); });
    }
    columns_.push_back({.column = std::move(column), .vocabulary = std::move(vocabulary)});
  }
  if (!options_.header) bind_to_positions();
}

void CsvReader::seek(CsvPosition position) {
  require(bound_, name_, ": cannot go to byte ", position.offset,
          " before the header has been read");
  position_ = position;
  fault_.clear();
  scan_ = {};
  in_comment_ = false;
}

bool CsvReader::skip(std::string_view& text, bool at_end) {
  if (!read_header(text, at_end) || !take_record(text, at_end)) return false;
  check_field_count();
  return true;
}

bool CsvReader::next(std::string_view& text, bool at_end, Features& out) {
  if (!skip(text, at_end)) return false;
  bool same_names = std::equal(out.begin(), out.end(), columns_.begin(), columns_.end(),
                               [](auto& item, auto& c) { return item.first == c.column.name; });
  if (!same_names) {
    out.clear();
    for (const Column& c : columns_) out.set(c.column.name, Array());
  }
  auto column = columns_.begin();
  for (auto& [name, array] : out) convert(*column++, array);
  return true;
}

bool CsvReader::read_header(std::string_view& text, bool at_end) {
  if (unusable_) consume(text, text.size());
  if (bound_ || unusable_) return bound_;
  unusable_ = true;  // unless all that follows goes well
  if (take_record(text, at_end)) {
    bind_to_header();
  } else {
    require(!at_end, name_, ": ends at byte ", position_.offset, " without a header");
  }
  unusable_ = false;
  return bound_;
}

// Leaves the next record in fields_; false when there is none or not all of it yet.
bool CsvReader::take_record(std::string_view& text, bool at_end) {
  if (!fault_.empty()) return drop_line(text, at_end);
  if (!skip_lines(text, at_end)) return false;
  record_ = position_;
  std::size_t limit = options_.max_record_bytes;
  const Split read = split(text.substr(0, limit), at_end && text.size() <= limit);
  if (read == Split::complete) {
    consume(text, record_bytes_);
    return true;
  }
  if (read == Split::incomplete) {
    if (text.size() < limit) return false;
    scan_ = {};
    fault(0, concat("the record is longer than ", limit,
                    " bytes: a quote may never have been closed; else raise max_record_bytes"));
  }
  return drop_line(text, at_end);
}

// Passes the byte order mark, empty lines and comments. True when a record begins here.
bool CsvReader::skip_lines(std::string_view& text, bool at_end) {
  if (position_.offset == 0) {
    if (text.size() < byte_order_mark.size() && byte_order_mark.starts_with(text) && !at_end)
      return false;
    if (text.starts_with(byte_order_mark)) consume(text, byte_order_mark.size());
  }
  while (!text.empty()) {
    in_comment_ = in_comment_ || (options_.comment != '\0' && text.front() == options_.comment);
    if (in_comment_) {
      std::size_t end = text.find('\n');
      in_comment_ = end == std::string_view::npos && !at_end;
      consume(text, std::min(end, text.size() - 1) + 1);
    } else if (std::size_t end = line_end(text, 0); end > 0) {
      consume(text, end);
    } else {
      return true;
    }
  }
  return false;
}

// Reads past the line that fault_ is about, so that the next call finds a line's beginning.
bool CsvReader::drop_line(std::string_view& text, bool at_end) {
  std::size_t end = text.find('\n');
  bool found = end != std::string_view::npos;
  consume(text, found ? end + 1 : text.size());
  if (!found && !at_end) return false;
  throw Error(std::exchange(fault_, {}));
}

void CsvReader::consume(std::string_view& text, std::size_t bytes) {
  position_.line +=
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes), '\n');
  position_.offset += bytes;
  text.remove_prefix(bytes);
}

CsvReader::Split CsvReader::fault(std::size_t offset, std::string_view what) {
  fault_ = concat(name_, ": line ", record_.line, ", byte ",
                  record_.offset + static_cast<std::int64_t>(offset), ": ", what);
  return Split::faulty;
}

CsvReader::Field& CsvReader::add_field(std::size_t offset) {
  if (field_count_ == fields_.size()) fields_.emplace_back();
  Field& field = fields_[field_count_++];
  field.text.clear();
  field.offset = offset;
  return field;
}

// Goes on where it stopped for want of text, so that long records that come in pieces are looked at
// once.
CsvReader::Split CsvReader::split(std::string_view text, bool at_end) {
  if (scan_.state == Scan::State::before_field && scan_.at == 0) field_count_ = 0;
  while (true) {
    Split read = read_field(text, at_end);
    if (read == Split::incomplete) {
      if (scan_.at == 0) scan_ = {};  // a CR: with an LF behind it, it will be an empty line
      return read;
    }
    const std::size_t at = scan_.at;
    std::size_t end = at < text.size() ? line_end(text, at) : 0;
    if (read == Split::faulty || at == text.size() || end > 0) {
      record_bytes_ = at + end;
      scan_ = {};
      return read;
    }
    ++scan_.at;  // the delimiter
  }
}

// Reads a field up to what ends it: a delimiter, a line end, or the end of the data.
CsvReader::Split CsvReader::read_field(std::string_view text, bool at_end) {
  using State = Scan::State;
  if (scan_.state == State::before_field && !begin_field(text, at_end)) return Split::incomplete;
  if (scan_.state == State::plain) read_plain(text);
  if (scan_.state == State::quoted)
    if (Split read = read_quoted(text, at_end); read != Split::complete) return read;
  Split read = end_field(text, at_end);
  if (read == Split::complete) scan_.state = State::before_field;
  return read;
}

// False when the text ends before it is known how the field begins.
bool CsvReader::begin_field(std::string_view text, bool at_end) {
  std::size_t& at = scan_.at;
  while (options_.skip_initial_space && at < text.size() && text[at] == ' ') ++at;
  if (at == text.size() && !at_end) return false;
  add_field(at);
  bool quoted = at < text.size() && text[at] == '"';
  scan_.state = quoted ? Scan::State::quoted : Scan::State::plain;
  if (quoted) scan_.opening = at++;
  return true;
}

void CsvReader::read_plain(std::string_view text) {
  std::size_t& at = scan_.at;
  std::size_t begin = at;
  while (at < text.size() && text[at] != options_.delimiter && !is_special(text[at])) ++at;
  fields_[field_count_ - 1].text += text.substr(begin, at - begin);
}

// Up to behind the closing quote.
CsvReader::Split CsvReader::read_quoted(std::string_view text, bool at_end) {
  std::size_t& at = scan_.at;
  std::string& out = fields_[field_count_ - 1].text;
  while (true) {
    std::size_t quote = std::min(text.find('"', at), text.size());
    out += text.substr(at, quote - at);
    at = quote;
    if (quote == text.size())
      return at_end ? fault(scan_.opening, "a quote that is never closed") : Split::incomplete;
    if (quote + 1 == text.size() && !at_end) return Split::incomplete;  // the next may double it
    ++at;
    if (at == text.size() || text[at] != '"') break;
    out += '"';
    ++at;
  }
  scan_.state = Scan::State::after_quotes;
  return Split::complete;
}

CsvReader::Split CsvReader::end_field(std::string_view text, bool at_end) {
  const std::size_t at = scan_.at;
  if (at == text.size()) return at_end ? Split::complete : Split::incomplete;
  if (text[at] == options_.delimiter || line_end(text, at) > 0) return Split::complete;
  if (text[at] == '\r') {
    if (at + 1 == text.size() && !at_end) return Split::incomplete;
    return fault(at, "a carriage return that no line feed follows");
  }
  if (scan_.state == Scan::State::after_quotes)
    return fault(at, "text after a closing quote; a quote within quotes is doubled");
  return fault(at, "a quote within a field that does not begin with one");
}

namespace {

std::vector<std::size_t> from(std::size_t first, std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

void CsvReader::bind_to_header() {
  expected_fields_ = field_count_;
  for (Column& c : columns_) {
    for (const std::string& name : c.column.fields) c.fields.push_back(find_in_header(name));
    if (!c.fields.empty()) continue;
    std::size_t first = c.column.index >= 0 ? static_cast<std::size_t>(c.column.index)
                                            : find_in_header(c.column.name);
    c.fields = from(first, fields_of(c.column));
  }
  bound_ = true;
}

void CsvReader::bind_to_positions() {
  std::size_t after = 0;
  for (Column& c : columns_) {
    std::size_t first = c.column.index >= 0 ? static_cast<std::size_t>(c.column.index) : after;
    c.fields = from(first, fields_of(c.column));
    after = c.fields.back() + 1;
  }
  bound_ = true;
}

std::size_t CsvReader::find_in_header(const std::string& name) const {
  auto begin = fields_.begin(), end = begin + field_count_;
  auto is_it = [&](const Field& field) { return field.text == name; };
  auto found = std::find_if(begin, end, is_it);
  std::vector<std::string> names;
  std::transform(begin, end, std::back_inserter(names), [](auto& field) { return field.text; });
  require(found != end, name_, ": no column `", name, "` in the header on line ", record_.line,
          "; it has ", join(names, ", "), " (a file without one: .header = false)");
  require(std::none_of(found + 1, end, is_it), name_, ": the header on line ", record_.line,
          " has the column `", name, "` twice; choose one by .index");
  return found - begin;
}

void CsvReader::check_field_count() {
  if (expected_fields_ == 0) expected_fields_ = field_count_;
  require(field_count_ == expected_fields_, name_, ": line ", record_.line, ", byte ",
          record_.offset, ": the record has ", field_count_, " fields, expected ", expected_fields_,
          ", as many as the ", options_.header ? "header" : "first record");
  for (const Column& c : columns_)
    for (std::size_t field : c.fields)
      require(field < field_count_, name_, ": line ", record_.line, ", byte ", record_.offset,
              ": no field ", field, " for column `", c.column.name, "`: the record has ",
              field_count_);
}

void CsvReader::convert(const Column& c, Array& out) const {
  for (std::size_t i = 0; i < c.fields.size(); ++i) convert(c, fields_[c.fields[i]], i, out);
}

void CsvReader::convert(const Column& c, const Field& field, std::size_t field_index,
                        Array& out) const {
  bool empty = trim(field.text).empty();
  try {
    if (empty && c.column.default_value)
      return convert_field(c.column, c.vocabulary, *c.column.default_value, field_index, out);
    require(!empty || c.column.type == CsvType::text, "the field is empty, expected type ",
            c.column.type, "; a column may have a .default_value");
    convert_field(c.column, c.vocabulary, field.text, field_index, out);
  } catch (const Error& error) {
    if (is_shortage()) throw;
    std::string column = concat("column `", c.column.name, "`");
    if (!c.column.fields.empty())
      column =
          concat("column `", c.column.fields[field_index], "` of feature `", c.column.name, "`");
    fail(name_, ": line ", record_.line, ", byte ",
         record_.offset + static_cast<std::int64_t>(field.offset), ", ", column, ": ",
         error.what());
  }
}

}  // namespace belfry::data
