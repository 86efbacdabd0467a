#include "belfry/framework/tensor/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "belfry/framework/base/json_text.h"

namespace belfry::safetensors {
namespace {

using nlohmann::json;

constexpr std::string_view metadata_name = "__metadata__";
constexpr std::size_t prefix_bytes = 8;  // the header's length, before the header

struct TypeName {
  DType dtype;
  const char* name;
};

// In the order in which the reference writer places them.
constexpr std::array<TypeName, 8> type_names{{{DType::i64, "I64"},
                                              {DType::f64, "F64"},
                                              {DType::f32, "F32"},
                                              {DType::i32, "I32"},
                                              {DType::bf16, "BF16"},
                                              {DType::f16, "F16"},
                                              {DType::u8, "U8"},
                                              {DType::boolean, "BOOL"}}};

auto position(DType dtype) {
  return std::find_if(type_names.begin(), type_names.end(),
                      [&](const TypeName& t) { return t.dtype == dtype; });
}

DType parse_type(std::string_view name) {
  std::string known;
  for (const TypeName& type : type_names) {
    if (name == type.name) return type.dtype;
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  fail("unknown dtype ", quote(name), "; expected one of ", known);
}

void check_name(std::string_view name, const char* what) {
  require(name.size() <= max_name_bytes, what, " ", quote(name), " is ", name.size(),
          " bytes long; at most ", max_name_bytes, " are allowed");
  bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  require(printable, what, " ", quote(name), " contains a control character");
}

std::string to_json(std::string_view s) {
  require(is_utf8(s), "the text ", quote(s), " is not valid UTF-8");
  return json_text(s);
}

/// Takes the events of the JSON parser and builds a Header. Every event that the format has no
/// place for is an Error, so the text can nest no deeper than the format does.
class Parser final : public nlohmann::json_sax<json> {
 public:
  Header finish(std::int64_t data_bytes);

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(text(value)); }
  bool number_integer(std::int64_t value) override { unexpected(text(value)); }
  bool number_float(double, const std::string& digits) override { unexpected(text(quote(digits))); }
  bool binary(json::binary_t&) override { unexpected("binary data"); }
  bool number_unsigned(std::uint64_t value) override;
  bool string(std::string& value) override;
  bool start_object(std::size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail("the header is not valid JSON at byte ", prefix_bytes + position - 1);
  }

 private:
  enum class State { outside, header, metadata, tensor, shape, offsets };

  struct Entry {
    std::string name;
    std::optional<DType> dtype;
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<std::vector<std::uint64_t>> offsets;
  };
  struct Range {
    TensorEntry tensor;
    std::uint64_t begin;
    std::uint64_t end;
  };

  [[noreturn]] void unexpected(const std::string& found) const;
  void finish_tensor();

  State state_ = State::outside;
  std::string field_;  // the last key within metadata or a tensor; empty before the first
  Entry entry_;        // the tensor being read
  std::set<std::string, std::less<>> names_;
  std::vector<Range> ranges_;
  Metadata metadata_;
};

void Parser::unexpected(const std::string& found) const {
  if (state_ == State::header) fail(quote(entry_.name), " must be an object, found ", found);
  if (state_ == State::metadata)
    fail("metadata ", quote(field_), " must be a string, found ", found);
  if (state_ == State::tensor)
    fail("tensor ", quote(entry_.name), ": ", field_, " must be ",
         field_ == "dtype" ? "a string" : "a list of numbers", ", found ", found);
  // It is within one of two lists: the text begins with an object, and is no JSON if more follows
  // it.
  fail("tensor ", quote(entry_.name), ": ", field_,
       " must hold whole numbers that are not negative, found ", found);
}

bool Parser::start_object(std::size_t) {
  if (state_ == State::outside) {
    state_ = State::header;
  } else if (state_ == State::header) {
    state_ = entry_.name == metadata_name ? State::metadata : State::tensor;
  } else {
    unexpected("an object");
  }
  return true;
}

bool Parser::key(std::string& name) {
  if (state_ == State::header) {
    check_name(name, "the name");
    require(names_.insert(name).second, "the name ", quote(name), " appears twice");
    require(names_.size() <= max_tensors + 1, "the header names more than ", max_tensors,
            " tensors");
    entry_ = {.name = name, .dtype = {}, .shape = {}, .offsets = {}};
  } else if (state_ == State::metadata) {
    check_name(name, "the metadata key");
    require(!metadata_.contains(name), "metadata ", quote(name), " appears twice");
    require(metadata_.size() < max_tensors, "the header has more than ", max_tensors,
            " metadata entries");
    field_ = name;
  } else {
    bool known = name == "dtype" || name == "shape" || name == "data_offsets";
    require(known, "tensor ", quote(entry_.name), ": unknown field ", quote(name),
            "; expected dtype, shape and data_offsets");
    bool repeated = name == "dtype"   ? entry_.dtype.has_value()
                    : name == "shape" ? entry_.shape.has_value()
                                      : entry_.offsets.has_value();
    require(!repeated, "tensor ", quote(entry_.name), ": the field ", name, " appears twice");
    field_ = name;
  }
  return true;
}

bool Parser::string(std::string& value) {
  if (state_ == State::metadata) {
    metadata_.emplace(field_, std::move(value));
  } else if (state_ == State::tensor && field_ == "dtype") {
    with_context(concat("tensor ", quote(entry_.name)), [&] { entry_.dtype = parse_type(value); });
  } else {
    unexpected(concat("the string ", quote(value)));
  }
  return true;
}

bool Parser::start_array(std::size_t) {
  if (state_ == State::tensor && field_ == "shape") {
    entry_.shape.emplace();
    state_ = State::shape;
  } else if (state_ == State::tensor && field_ == "data_offsets") {
    entry_.offsets.emplace();
    state_ = State::offsets;
  } else {
    unexpected("a list");
  }
  return true;
}

bool Parser::number_unsigned(std::uint64_t value) {
  if (state_ == State::shape) {
    require(entry_.shape->size() < Shape::max_rank, "tensor ", quote(entry_.name),
            ": shape has more than ", Shape::max_rank, " axes");
    require(value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}, "tensor ",
            quote(entry_.name), ": axis ", entry_.shape->size(), " of shape has the size ", value,
            ", more than 64 bits with a sign can hold");
    entry_.shape->push_back(value);
  } else if (state_ == State::offsets) {
    require(entry_.offsets->size() < 2, "tensor ", quote(entry_.name),
            ": data_offsets has more than 2 numbers; expected begin and end");
    entry_.offsets->push_back(value);
  } else {
    unexpected(text(value));
  }
  return true;
}

bool Parser::end_array() {
  state_ = State::tensor;
  return true;
}

bool Parser::end_object() {
  if (state_ == State::header) {
    state_ = State::outside;
  } else {
    if (state_ == State::tensor) finish_tensor();
    state_ = State::header;
  }
  return true;
}

void Parser::finish_tensor() {
  auto name = quote(entry_.name);
  require(entry_.dtype, "tensor ", name, ": the field dtype is missing");
  require(entry_.shape, "tensor ", name, ": the field shape is missing");
  require(entry_.offsets, "tensor ", name, ": the field data_offsets is missing");
  require(entry_.offsets->size() == 2, "tensor ", name, ": data_offsets has ",
          entry_.offsets->size(), " numbers; expected begin and end");
  Shape shape = with_context(concat("tensor ", name), [&] { return Shape(*entry_.shape); });
  TensorType type{shape, *entry_.dtype};
  auto begin = (*entry_.offsets)[0];
  auto end = (*entry_.offsets)[1];
  require(begin <= end, "tensor ", name, ": data_offsets end at ", end, ", before their begin ",
          begin);
  require(end - begin == static_cast<std::uint64_t>(type.bytes()), "tensor ", name, ": ", type,
          " takes ", type.bytes(), " bytes, but data_offsets [", begin, ", ", end, "] span ",
          end - begin);
  ranges_.push_back({{std::move(entry_.name), type, 0}, begin, end});
  entry_ = {};
}

Header Parser::finish(std::int64_t data_bytes) {
  require(ranges_.size() <= max_tensors, "the header names more than ", max_tensors, " tensors");
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  Header header;
  header.metadata = std::move(metadata_);
  header.tensors.reserve(ranges_.size());
  std::uint64_t covered = 0;
  std::string_view before;  // the tensor that ends at `covered`
  for (Range& range : ranges_) {
    auto name = quote(range.tensor.name);
    require(range.begin <= covered, "tensor ", name, ": bytes ", covered, " to ", range.begin,
            " of the data, before it, belong to no tensor");
    require(range.begin == covered, "tensor ", name, ": its data starts at ", range.begin,
            ", within ", quote(before), " that ends at ", covered);
    require(range.end <= static_cast<std::uint64_t>(data_bytes), "tensor ", name,
            ": its data ends at ", range.end, ", but the file holds ", data_bytes,
            " bytes of data; was it cut short?");
    range.tensor.begin = covered;
    covered = range.end;
    before = header.tensors.emplace_back(std::move(range.tensor)).name;
  }
  require(covered == static_cast<std::uint64_t>(data_bytes), "the tensors cover ", covered,
          " bytes of data, but the file holds ", data_bytes);
  return header;
}

}  // namespace

std::string to_string(const Quoted& quoted) {
  std::string_view name = quoted.name;
  std::size_t shown = std::min<std::size_t>(name.size(), 80);
  // Never cut within a character: its further bytes are 10xxxxxx.
  while (shown < name.size() && shown > 0 && (name[shown] & 0xC0) == 0x80) --shown;
  std::string out(name.substr(0, shown));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return "`" + out + (shown < name.size() ? "...`" : "`");
}

Header lay_out(const NamedArrays& tensors, const Metadata& metadata) {
  require(tensors.size() <= max_tensors, tensors.size(), " tensors; at most ", max_tensors,
          " are allowed");
  for (const auto& [key, value] : metadata) check_name(key, "the metadata key");
  Header header{.tensors = {}, .metadata = metadata};
  for (const auto& [name, array] : tensors) {
    check_name(name, "the name");
    require(name != metadata_name, "a tensor cannot be called ", metadata_name);
    require(array.defined(), "tensor ", quote(name), " is undefined");
    header.tensors.push_back({name, array.type(), 0});
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return position(a.type.dtype) < position(b.type.dtype);
  });
  std::int64_t begin = 0;
  for (TensorEntry& tensor : header.tensors) {
    tensor.begin = begin;
    begin += tensor.type.bytes();
  }
  return header;
}

std::string to_json(const Header& header) {
  std::string out;
  for (const auto& [key, value] : header.metadata)
    out += (out.empty() ? "" : ",") + to_json(key) + ":" + to_json(value);
  if (!out.empty()) out = concat('"', metadata_name, "\":{", out, '}');
  for (const TensorEntry& tensor : header.tensors) {
    out +=
        concat(out.empty() ? "" : ",", to_json(tensor.name), ":{\"dtype\":\"",
               position(tensor.type.dtype)->name, "\",\"shape\":[", join(tensor.type.shape, ","),
               "],\"data_offsets\":[", tensor.begin, ",", tensor.begin + tensor.type.bytes(), "]}");
  }
  return "{" + out + "}";
}

Header parse(std::string_view text, std::int64_t data_bytes) {
  require(text.starts_with('{'), "the header at byte ", prefix_bytes, " must start with `{`");
  // To the JSON parser a zero byte is the end of the text.
  auto zero = text.find('\0');
  require(zero == std::string_view::npos, "the header has a zero byte at byte ",
          prefix_bytes + zero);
  Parser parser;
  json::sax_parse(text, &parser);
  return parser.finish(data_bytes);
}

}  // namespace belfry::safetensors
