#include "belfry/data/cache/element_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::int64_t framing = 16;                 // bytes of a record that are not its content
constexpr std::int64_t magic = 0x31796c66'6c656221;  // marks the tail
constexpr std::int64_t tail = framing + 16;          // a record: offset of the table, magic

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) { out_.clear(); }
  void bytes(const void* data, std::size_t size) {
    std::size_t end = out_.size();
    out_.resize(end + size);
    if (size > 0) std::memcpy(out_.data() + end, data, size);
  }
  void number(std::int64_t value) { bytes(&value, sizeof value); }

 private:
  std::vector<std::byte>& out_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {}

  std::span<const std::byte> next_bytes(std::int64_t size) {
    require(size >= 0 && size <= std::ssize(bytes_), where_, ": not an element: ", size,
            " bytes are wanted where ", bytes_.size(), " are left");
    auto out = bytes_.first(size);
    bytes_ = bytes_.subspan(out.size());
    return out;
  }
  std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, next_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::int64_t number(std::int64_t most, const char* what) {
    std::int64_t value = number();
    require(value >= 0 && value <= most, where_, ": not an element: ", what, " is ", value,
            ", expected 0 to ", most);
    return value;
  }
  bool at_end() const { return bytes_.empty(); }
  std::int64_t left() const { return std::ssize(bytes_); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

TensorType read_type(Reader& in) {
  TensorType type;
  type.dtype = static_cast<DType>(in.number(static_cast<std::int64_t>(DType::boolean), "a dtype"));
  std::array<std::int64_t, Shape::max_rank> sizes{};
  std::size_t rank = in.number(Shape::max_rank, "a rank");
  for (std::size_t i = 0; i < rank; ++i) sizes[i] = in.number(std::int64_t{1} << 48, "a size");
  type.shape = Shape(std::span<const std::int64_t>(sizes.data(), rank));
  return type;
}

// Another value than 0 or 1 in a C++ bool is undefined behaviour.
bool are_booleans(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

// Takes the content of the record at `offset`. Returns what is wrong with it, or nothing; an Error
// is of the system.
std::string take_record(const RandomAccessFile& file, std::int64_t offset, std::int64_t end,
                        std::vector<std::byte>& out) {
  std::int64_t length = -1;
  std::uint32_t checksum = 0;
  std::array<std::byte, 12> head{};
  if (offset >= 0 && offset <= end - framing) {
    file.read(offset, head);
    std::memcpy(&length, head.data(), sizeof length);
    std::memcpy(&checksum, head.data() + sizeof length, sizeof checksum);
  }
  if (length < 0 || length > end - framing - offset
      || checksum != masked(crc32c(std::span(head).first(sizeof length))))
    return concat(file.path(), ": no record at byte ", offset, "; the file is damaged, remove it");
  out.resize(static_cast<std::size_t>(length) + 4);
  file.read(offset + 12, out);
  std::uint32_t wanted = 0;
  std::memcpy(&wanted, out.data() + length, sizeof wanted);
  out.resize(length);
  if (masked(crc32c(out)) == wanted) return {};
  return concat(file.path(), ": the record at byte ", offset,
                " does not agree with its checksum; the file is damaged, remove it");
}

void read_record(const RandomAccessFile& file, std::int64_t offset, std::int64_t end,
                 std::vector<std::byte>& out) {
  std::string damage = take_record(file, offset, end, out);
  require(damage.empty(), damage);
}

}  // namespace

void encode_element(const Element& element, std::vector<std::byte>& out) {
  Writer to(out);
  to.number(element.index);
  to.number(element.epoch);
  for (const auto& [name, array] : element.features) {
    to.number(std::ssize(name));
    to.bytes(name.data(), name.size());
    to.number(static_cast<std::int64_t>(array.dtype()));
    to.number(array.shape().rank());
    for (std::int64_t size : array.shape()) to.number(size);
    to.bytes(array.raw(), array.bytes());
  }
}

void decode_element(std::span<const std::byte> bytes, Element& out, const std::string& where) {
  Reader in(bytes, where);
  out.index = in.number();
  out.epoch = in.number();
  Signature signature;
  std::vector<std::span<const std::byte>> values;
  while (!in.at_end()) {
    auto name = in.next_bytes(in.number(in.left(), "the length of a name"));
    std::string text(reinterpret_cast<const char*>(name.data()), name.size());
    TensorType type = read_type(in);
    values.push_back(in.next_bytes(type.bytes()));
    require(type.dtype != DType::boolean || are_booleans(values.back()), where,
            ": not an element: a boolean is neither 0 nor 1");
    signature.emplace_back(std::move(text), type);
  }
  prepare(out.features, signature);
  require(out.features.size() == signature.size(), where,
          ": not an element: a name is there twice");
  std::size_t i = 0;
  for (auto& [name, array] : out.features) {
    auto target = array.raw_bytes();
    if (!target.empty()) std::memcpy(target.data(), values[i].data(), target.size());
    ++i;
  }
}

struct ElementWriter::Impl {
  explicit Impl(const std::string& path) : file(path) {}

  void write(std::span<const std::byte> record) {
    file.write(record);
    offset += std::ssize(record) + framing;
  }

  TfRecordWriter file;
  std::int64_t offset = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::byte> buffer;
};

ElementWriter::ElementWriter(const std::string& path) {
  const std::filesystem::path target(path);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  remove_stale_temporaries(folder.string(), target.filename().string());
  impl_ = std::make_unique<Impl>(path);
}
ElementWriter::~ElementWriter() = default;

void ElementWriter::write(const Element& element) {
  encode_element(element, impl_->buffer);
  impl_->offsets.push_back(impl_->offset);
  impl_->write(impl_->buffer);
}

void ElementWriter::close() {
  std::array<std::int64_t, 2> end{impl_->offset, magic};
  impl_->write(std::as_bytes(std::span(impl_->offsets)));
  impl_->write(std::as_bytes(std::span(end)));
  impl_->file.close();
}

ElementReader::ElementReader(const std::string& path) : file_(path) {
  std::vector<std::byte> record;
  std::array<std::int64_t, 2> end{};
  std::int64_t size = file_.size();
  bool whole = size >= tail && take_record(file_, size - tail, size, record).empty();
  if (whole && record.size() == sizeof end) std::memcpy(end.data(), record.data(), sizeof end);
  require(end[1] == magic, path, ": no file that cache() or snapshot() wrote, or one cut short; ",
          "check the path");
  read_record(file_, end[0], size - tail, record);
  require(record.size() % sizeof(std::int64_t) == 0, path, ": the table at byte ", end[0],
          " is damaged; remove the file");
  offsets_.resize(record.size() / sizeof(std::int64_t));
  if (!record.empty()) std::memcpy(offsets_.data(), record.data(), record.size());
}

void ElementReader::read(std::int64_t index, Element& out) const {
  thread_local std::vector<std::byte> record;
  std::int64_t offset = offsets_[index];
  read_record(file_, offset, file_.size() - tail, record);
  decode_element(record, out, concat(file_.path(), " at byte ", offset));
}

}  // namespace belfry::data
