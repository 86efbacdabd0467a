#include "belfry/framework/base/json_tree.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json_text.h"

namespace belfry {
namespace {

using Json = nlohmann::json;
using Kind = JsonNode::Kind;

// "line 2, column 5" of a byte, counted from 1. The library's own column is 0 at times.
std::string line_and_column_of(std::string_view text, std::size_t byte) {
  std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  std::size_t line_start = before.rfind('\n') + 1;  // 0 where there is none
  return concat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                before.size() - line_start + 1);
}

/// Takes the events of the parser and grows the tree.
class Growing final : public nlohmann::json_sax<Json> {
 public:
  Growing(std::string_view text, std::string_view title, int deepest)
      : text_(text), title_(title.empty() ? "" : concat(title, ": ")), deepest_(deepest) {}

  JsonNode root;

  bool null() override { return add(Kind::null); }
  bool boolean(bool value) override {
    next(Kind::truth).truth = value;
    return true;
  }
  bool number_integer(std::int64_t value) override {
    next(Kind::whole).whole = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    next(Kind::natural).natural = value;
    return true;
  }
  bool number_float(double value, const std::string&) override {
    next(Kind::fraction).fraction = value;
    return true;
  }
  bool string(std::string& value) override {
    next(Kind::words).words = std::move(value);
    return true;
  }
  bool binary(Json::binary_t&) override { return false; }  // a text has none
  bool start_object(std::size_t) override { return open(Kind::object); }
  bool start_array(std::size_t) override { return open(Kind::list); }
  bool key(std::string& name) override {
    open_.back()->keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    sort_keys(*open_.back());
    return end_array();
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string_view why = error.what();
    for (std::string_view before : {"] ", ": "})
      if (auto end = why.find(before); end != why.npos) why.remove_prefix(end + 2);
    fail(title_, "not JSON: ", line_and_column_of(text_, byte), ": ", why);
  }

 private:
  // A parent's children move only while none of them is open.
  JsonNode& next(Kind kind) {
    JsonNode& node = open_.empty() ? root : open_.back()->children.emplace_back();
    node.kind = kind;
    return node;
  }
  bool add(Kind kind) {
    next(kind);
    return true;
  }
  bool open(Kind kind) {
    require(std::ssize(open_) < deepest_, title_, "nested more than ", deepest_, " deep");
    open_.push_back(&next(kind));
    return true;
  }
  void sort_keys(JsonNode& object) const {
    const auto& keys = object.keys;
    auto& order = object.by_key;
    order.resize(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    auto less = [&](auto a, auto b) { return keys[a] < keys[b]; };
    if (!std::is_sorted(order.begin(), order.end(), less))
      std::sort(order.begin(), order.end(), less);
    auto twice = std::adjacent_find(order.begin(), order.end(),
                                    [&](auto a, auto b) { return keys[a] == keys[b]; });
    require(twice == order.end(), title_, twice == order.end() ? "" : json_text(keys[*twice]),
            " is given twice");
  }

  std::string_view text_;
  std::string title_;  // in front of messages
  int deepest_;
  std::vector<JsonNode*> open_;
};

std::string text_of(double fraction) {
  if (!std::isfinite(fraction)) return "null";
  std::string out = text(fraction);
  return out.find_first_of(".e") == out.npos ? out + ".0" : out;
}

/// Writes a tree, on one line or on many.
class Writing {
 public:
  explicit Writing(bool lines) : lines_(lines) {}

  std::string out;

  void write(const JsonNode& value) {
    switch (value.kind) {
      case Kind::null:
        out += "null";
        break;
      case Kind::truth:
        out += text(value.truth);
        break;
      case Kind::whole:
        out += text(value.whole);
        break;
      case Kind::natural:
        out += text(value.natural);
        break;
      case Kind::fraction:
        out += text_of(value.fraction);
        break;
      case Kind::words:
        out += json_text(value.words);
        break;
      case Kind::list:
      case Kind::object:
        write_children(value);
    }
  }

 private:
  void write_children(const JsonNode& value) {
    bool object = value.kind == Kind::object;
    out += object ? '{' : '[';
    ++depth_;
    for (std::size_t i = 0; i < value.children.size(); ++i) {
      if (i > 0) out += ',';
      begin_line();
      if (object) out += json_text(value.keys[i]) + (lines_ ? ": " : ":");
      write(value.children[i]);
    }
    --depth_;
    if (!value.children.empty()) begin_line();
    out += object ? '}' : ']';
  }
  void begin_line() {
    if (lines_) out.append("\n").append(depth_, ' ');
  }

  bool lines_;
  std::size_t depth_ = 0;
};

std::string written(const JsonNode& value, bool lines) {
  Writing writing(lines);
  writing.write(value);
  return std::move(writing.out);
}

}  // namespace

JsonNode JsonNode::list(std::vector<JsonNode> elements) {
  JsonNode out;
  out.kind = Kind::list;
  out.children = std::move(elements);
  return out;
}

JsonNode JsonNode::object(std::vector<std::pair<std::string, JsonNode>> members) {
  JsonNode out;
  out.kind = Kind::object;
  for (auto& [key, value] : members) out.add(std::move(key), std::move(value));
  return out;
}

void JsonNode::add(std::string key, JsonNode value) {
  auto at = std::lower_bound(by_key.begin(), by_key.end(), key,
                             [&](auto place, const std::string& k) { return keys[place] < k; });
  ensure(at == by_key.end() || keys[*at] != key, "JSON: the key ", key, " is there already");
  by_key.insert(at, static_cast<std::uint32_t>(keys.size()));
  keys.push_back(std::move(key));
  children.push_back(std::move(value));
}

const JsonNode* JsonNode::find(std::string_view key) const {
  auto found = std::lower_bound(by_key.begin(), by_key.end(), key,
                                [&](auto at, std::string_view k) { return keys[at] < k; });
  return found == by_key.end() || keys[*found] != key ? nullptr : &children[*found];
}

void JsonNode::erase(std::string_view key) {
  const JsonNode* found = find(key);
  if (!found) return;
  auto at = static_cast<std::uint32_t>(found - children.data());
  children.erase(children.begin() + at);
  keys.erase(keys.begin() + at);
  std::erase(by_key, at);
  for (std::uint32_t& place : by_key) place -= place > at;
}

double JsonNode::number() const {
  if (kind == Kind::fraction) return fraction;
  return kind == Kind::whole ? static_cast<double>(whole) : static_cast<double>(natural);
}

std::shared_ptr<const JsonNode> parse_json(std::string_view text, std::string_view title,
                                           int deepest) {
  Growing growing(text, title, deepest);
  Json::sax_parse(text, &growing);
  return std::make_shared<const JsonNode>(std::move(growing.root));
}

std::string JsonNode::text() const { return written(*this, false); }
std::string JsonNode::indented_text() const { return written(*this, true); }

std::string JsonNode::shown() const {
  constexpr std::size_t most = 60;
  std::string out = text();
  if (out.size() <= most) return out;
  std::size_t end = most;
  while (end > 0 && (out[end] & 0xC0) == 0x80) --end;  // not within a character of UTF-8
  return out.substr(0, end) + "...";
}

}  // namespace belfry
