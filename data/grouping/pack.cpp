#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "belfry/data/grouping/grouping.h"
#include "belfry/data/grouping/waiting.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t no_label = -1, no_document = -1;

void read_tokens(const Array& array, const std::string& feature, Tokens& out) {
  DType type = array.dtype();
  bool whole_numbers = type == DType::i32 || type == DType::i64 || type == DType::u8;
  require(array.shape().rank() == 1 && whole_numbers, "pack: `", feature, "` is ", array.type(),
          ", expected a document of tokens: i32, i64 or u8 [t]");
  out.clear();
  auto append = [&](auto tokens) {
    for (auto token : tokens) {
      require(std::in_range<std::int32_t>(token), "pack: token ", out.size(), " of `", feature,
              "` is ", token, ", beyond i32");
      out.push_back(static_cast<std::int32_t>(token));
    }
  };
  if (type == DType::i32) append(array.span<std::int32_t>());
  if (type == DType::i64) append(array.span<std::int64_t>());
  if (type == DType::u8) append(array.span<std::uint8_t>());
}

// Documents, or parts of them, one behind the other.
struct Row {
  Tokens tokens, labels;
  std::vector<std::int64_t> ends = {};     // of the documents, in `tokens`
  std::vector<std::int64_t> numbers = {};  // of the source's elements that they are, rising
  SourcePosition before = {};              // where the source stood before the first of those
  std::int64_t offset = 0;                 // how many tokens of that are in rows before

  std::int64_t used() const { return std::ssize(tokens); }

  // `next`: the label of the last.
  void append(std::span<const std::int32_t> part, std::int32_t next) {
    tokens.insert(tokens.end(), part.begin(), part.end());
    labels.insert(labels.end(), part.begin() + 1, part.end());
    labels.push_back(next);
    ends.push_back(used());
  }

  void clear() {
    tokens.clear();
    labels.clear();
    ends.clear();
    numbers.clear();
  }
};

// The rows in progress are the first open_ of rows_, in the order in which they were begun. A
// position holds the numbers of the documents in them: put in once more, each finds its row again,
// since rows that are done with had no room for it, or they would have got it.
class Pack final : public Iterator {
 public:
  Pack(IteratorPtr source, std::int64_t length, PackOptions options, const Pass& pass)
      : source_(std::move(source), "pack.waiting", "pack.read"),
        length_(length),
        options_(std::move(options)),
        epoch_(pass.epoch),
        stage_(pass.name) {
    for (const std::string& name :
         {options_.feature, options_.document, options_.position, options_.label})
      if (!name.empty()) signature_.push_back({name, {Shape{length}, DType::i32}});
  }

  bool next(Element& out) override {
    do {
      std::size_t done = put();
      if (done < open_) return yield(done, out);
    } while (read(out));
    return open_ > 0 && yield(0, out);
  }

  void position(Position& at) override {
    at.constant("pack.length", length_);
    at.constant("pack.open_rows", options_.split ? 0 : options_.open_rows);
    at.field("pack.index", index_);
    if (at.saving()) {
      save(at);
    } else {
      at.field("pack.offset", resume_);
      source_.restore(at);
    }
  }

 private:
  // Reads the next document, all of which is then left. An Error is that element's, whose name
  // `out` gets.
  bool read(Element& out) {
    std::int64_t done = std::exchange(resume_, 0);
    return source_.read(out, [&](const Element& element) {
      for_element(stage_, element, [&] {
        read_tokens(element.features.at(options_.feature), options_.feature, fresh_);
        std::int64_t size = std::ssize(fresh_);
        require(options_.split || size <= length_, "pack: the document has ", size,
                " tokens, a row ", length_, "; cut it before, or use PackOptions::split");
        require(done == 0 || done < size, "input: the saved position is token ", done,
                " of a document, which now has ", size, " tokens");
        std::swap(document_, fresh_);
        next_ = done;
      });
    });
  }

  std::int64_t left() const { return std::ssize(document_) - next_; }

  // Puts what is left of the document into a row, as far as it may. Returns the row that is then to
  // be yielded, or open_.
  std::size_t put() {
    if (left() == 0) return open_;
    std::size_t row = 0;
    while (row < open_ && !options_.split && length_ - rows_[row].used() < left()) ++row;
    bool may_open = options_.split || left() == length_  // is full, and gone, at once
                    || std::ssize(rows_in_progress()) < options_.open_rows;
    if (row == open_ && !may_open) return 0;  // makes room for it
    if (row == open_) open();
    put_into(rows_[row]);
    return rows_[row].used() == length_ ? row : open_;
  }

  std::span<Row> rows_in_progress() { return std::span(rows_).first(open_); }

  void open() {
    if (open_ == rows_.size()) rows_.emplace_back();
    Row& row = rows_[open_++];
    row.clear();
    row.before = source_.before();
    row.offset = next_;
  }

  void put_into(Row& row) {
    std::int64_t count = std::min(left(), length_ - row.used());
    auto part = std::span(document_).subspan(next_, count);
    next_ += count;
    row.append(part, left() > 0 ? document_[next_] : no_label);
    row.numbers.push_back(source_.number());
  }

  bool yield(std::size_t index, Element& out) {
    out.index = index_++;
    out.epoch = epoch_;
    out.file = nullptr;
    auto done = rows_.begin() + index;
    std::rotate(done, done + 1, rows_.begin() + open_);
    --open_;  // also if there is no memory for the row
    write(rows_[open_], out.features);
    return true;
  }

  void write(const Row& row, Features& out) const {
    prepare(out, signature_);
    fill(row.tokens, options_.padding, out.at(options_.feature));
    if (!options_.label.empty()) fill(row.labels, no_label, out.at(options_.label));
    if (!options_.document.empty()) {
      auto to = fill({}, no_document, out.at(options_.document)).begin();
      for (std::size_t i = 0, from = 0; i < row.ends.size(); from = row.ends[i++])
        to = std::fill_n(to, row.ends[i] - from, i);
    }
    if (!options_.position.empty()) {
      auto to = fill({}, 0, out.at(options_.position));
      for (std::size_t i = 0, from = 0; i < row.ends.size(); from = row.ends[i++])
        std::iota(to.begin() + from, to.begin() + row.ends[i], 0);
    }
  }

  // `values`, and `rest` behind them.
  static std::span<std::int32_t> fill(std::span<const std::int32_t> values, std::int32_t rest,
                                      Array& out) {
    auto to = out.span<std::int32_t>();
    std::fill(std::copy(values.begin(), values.end(), to.begin()), to.end(), rest);
    return to;
  }

  void save(Position& at) {
    std::vector<std::int64_t> waiting;
    const SourcePosition* before = nullptr;
    std::int64_t offset = resume_;
    if (open_ > 0) {
      before = &rows_[0].before;
      offset = rows_[0].offset;
    } else if (left() > 0) {
      before = &source_.before();
      offset = next_;
    }
    for (const Row& row : rows_in_progress())
      waiting.insert(waiting.end(), row.numbers.begin(), row.numbers.end());
    if (left() > 0) waiting.push_back(source_.number());
    at.field("pack.offset", offset);
    source_.save(at, std::move(waiting), before);
  }

  WaitingReader source_;
  std::int64_t length_;
  PackOptions options_;
  std::uint64_t epoch_;
  StageName stage_;
  Signature signature_;
  std::vector<Row> rows_;
  std::size_t open_ = 0;
  Tokens document_, fresh_;  // the one read last; memory for the next
  std::int64_t next_ = 0;    // of document_, the first token in no row
  std::int64_t resume_ = 0;  // of the next document, after a restored position
  std::int64_t index_ = 0;
};

void check(std::int64_t length, const PackOptions& options) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  require(length >= 1 && length <= most, "pack: a row has 1 to 2^31 - 1 tokens, got ", length);
  require(options.open_rows >= 1, "pack: open_rows must be at least 1, got ", options.open_rows);
  require(!options.feature.empty(), "pack: the feature with the tokens needs a name");
  const std::string* names[]{&options.feature, &options.document, &options.position,
                             &options.label};
  for (const std::string* const* a = names; a != std::end(names); ++a)
    for (const std::string* const* b = names; b != a; ++b)
      require((*a)->empty() || **a != **b, "pack: two features would be called `", **a, "`");
}

}  // namespace

Transform pack(std::int64_t length, PackOptions options) {
  check(length, options);
  return wrap(
      "pack",
      [=](IteratorPtr source, const Pass& pass) {
        return std::make_unique<Pack>(std::move(source), length, options, pass);
      },
      [=](const DatasetInfo& source) {
        bool known = source.cardinality == 0 || source.cardinality == infinite;
        return DatasetInfo{.cardinality = known ? source.cardinality : unknown,
                           .expands = options.split};
      });
}

}  // namespace belfry::data
