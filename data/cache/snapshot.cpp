// cache in a file, and snapshot.

#include <filesystem>
#include <memory>
#include <mutex>

#include "belfry/data/cache/cache.h"
#include "belfry/data/cache/element_file.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"

namespace belfry::data {
namespace {

bool is_there(const std::string& path) {
  std::error_code unreadable;  // opening it will say why
  return std::filesystem::exists(path, unreadable);
}

class FromFile final : public Iterator {
 public:
  FromFile(const std::string& path, const Pass& pass)
      : reader_(path), epoch_(pass.epoch), stop_(pass.stop) {}

  bool next(Element& out) override {
    if (next_ == reader_.size() || stop_.stop_requested()) return false;
    out.index = next_;
    out.epoch = epoch_;
    out.file = nullptr;
    reader_.read(next_++, out);
    out.epoch = epoch_;
    return true;
  }
  std::int64_t skip(std::int64_t count) override {
    count = std::min(count, reader_.size() - next_);
    next_ += count;
    return count;
  }
  void position(Position& at) override { at.field("cache.next", next_, 0, reader_.size()); }

  std::int64_t size() const { return reader_.size(); }

 private:
  ElementReader reader_;
  std::uint64_t epoch_;
  std::stop_token stop_;
  std::int64_t next_ = 0;
};

// Writes the file on the way. What cannot be part of a whole file (an element that failed, a
// beginning left out, a full disk) ends the writing and not the reading.
class IntoFile final : public Iterator {
 public:
  IntoFile(IteratorPtr source, const std::string& path, const Pass& pass)
      : source_(std::move(source)),
        writer_(std::make_unique<ElementWriter>(path)),
        epoch_(pass.epoch),
        stop_(pass.stop) {}

  bool next(Element& out) override {
    ++next_;
    bool more = false;
    try {
      more = source_->next(out);
    } catch (...) {
      writer_.reset();
      throw;
    }
    if (!more && stop_.stop_requested()) writer_.reset();  // not the end of the data
    write(more ? &out : nullptr);
    out.epoch = epoch_;
    next_ -= !more;
    return more;
  }

  std::int64_t skip(std::int64_t count) override {
    writer_.reset();
    std::int64_t skipped = source_->skip(count);
    next_ += skipped;
    return skipped;
  }

  void position(Position& at) override {
    at.field("cache.next", next_);
    if (at.saving() || next_ == 0) return;
    std::int64_t wanted = std::exchange(next_, 0), skipped = skip(wanted);
    require(skipped == wanted, "input: the saved position is element ", wanted,
            " of cached data that now end after ", skipped);
  }

 private:
  // Null: the end.
  void write(const Element* element) {
    if (!writer_) return;
    try {
      if (element) return writer_->write(*element);
      writer_->close();
    } catch (const std::exception& error) {
      log_warning("cache: nothing is kept of this pass: ", error.what());
    }
    writer_.reset();
  }

  IteratorPtr source_;
  std::unique_ptr<ElementWriter> writer_;
  std::uint64_t epoch_;
  std::stop_token stop_;
  std::int64_t next_ = 0;
};

Pass first_epoch(Pass pass) {
  pass.epoch = 0;
  pass.branch = 0;
  return pass;
}

void require_count(const std::string& path, std::int64_t found, std::int64_t expected) {
  require(expected < 0 || found == expected, path, ": it has ", found, " elements, expected ",
          expected, "; it is of other data: remove it to have it written anew");
}

void require_end(const char* what, const Dataset& source) {
  require(source.cardinality() != infinite, what, ": ", source.name(),
          " never ends, so the file would never be whole; put repeat() behind ", what, "()");
}

}  // namespace

Transform cache(const std::string& path) {
  require(!path.empty(), "cache: the path of the file is empty");
  return [=](Dataset source) {
    require_end("cache", source);
    auto make = [=](const Pass& pass) -> IteratorPtr {
      const Shard& shard = pass.shard;
      std::string mine =
          shard.count == 1 ? path : concat(path, ".", shard.index, "-of-", shard.count);
      if (is_there(mine)) {
        auto file = std::make_unique<FromFile>(mine, pass);
        if (shard.count == 1) require_count(mine, file->size(), source.cardinality());
        return file;
      }
      return std::make_unique<IntoFile>(source.iterate(first_epoch(pass)), mine, pass);
    };
    return Dataset("cache", {source}, make, {.cardinality = source.cardinality()});
  };
}

Transform snapshot(const std::string& path) {
  return [=](Dataset source) {
    require_end("snapshot", source);
    const bool known = is_there(path);
    if (!known) {
      Pass pass;
      pass.scheduler = std::make_shared<Scheduler>();
      IteratorPtr elements = source.iterate(pass);
      ElementWriter writer(path);
      for (Element element; elements->next(element);) writer.write(element);
      writer.close();
    }
    Dataset out = from_snapshot(path);
    if (known) require_count(path, out.cardinality(), source.cardinality());
    return out;
  };
}

Dataset from_snapshot(const std::string& path) {
  auto reader = std::make_shared<const ElementReader>(path);
  auto read = [reader](std::int64_t index, Features& out) {
    Element element{.features = std::move(out)};
    reader->read(index, element);
    out = std::move(element.features);
  };
  return indexed(reader->size(), read, "snapshot");
}

}  // namespace belfry::data
