#include "belfry/data/sources/text_buffer.h"

#include <algorithm>
#include <span>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {

std::string_view TextBuffer::from(std::int64_t offset) {
  begin_ += (offset - offset_);
  offset_ = offset;
  ensure(begin_ <= end_, path(), ": byte ", offset, " has not been read");
  return {buffer_.data() + begin_, end_ - begin_};
}

bool TextBuffer::read_more() {
  if (begin_ > 0) {
    auto at = [&](std::size_t i) { return buffer_.begin() + i; };
    std::copy(at(begin_), at(end_), at(0));
    end_ -= begin_;
    begin_ = 0;
  }
  buffer_.resize(std::max(buffer_.size(), end_ + block_bytes));
  const std::int64_t before = file_.offset();
  std::size_t got = 0;
  try {
    got = file_.read(std::as_writable_bytes(std::span(buffer_).subspan(end_)));
  } catch (const Error&) {
    if (is_shortage()) throw;
    got = file_.offset() - before;
    damaged_ = got == 0;
    if (damaged_) throw;
  }
  end_ += got;
  at_end_ = got == 0;
  return !at_end_;
}

void TextBuffer::seek(std::int64_t offset) {
  file_.seek(offset);
  offset_ = offset;
  begin_ = end_ = 0;
  at_end_ = damaged_ = false;
}

}  // namespace belfry::data
