#include "belfry/data/formats/byte_writer.h"

#include <signal.h>
#include <sys/resource.h>
#include <zlib.h>

#include "../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "formats/bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// The bytes that zlib makes of a file; plain files are copied.
ByteVector gunzipped(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  ByteVector out(3'000'000);
  int got = gzread(file, out.data(), static_cast<unsigned>(out.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  out.resize(static_cast<std::size_t>(std::max(got, 0)));
  return out;
}

/// Written in pieces of many sizes.
void write_pieces(ByteWriter& writer, std::span<const std::byte> bytes) {
  for (std::size_t size = 1; !bytes.empty(); size = size * 3 + 1) {
    auto piece = bytes.first(std::min(size, bytes.size()));
    writer.write(piece);
    bytes = bytes.subspan(piece.size());
  }
}

const ByteVector& content() {
  static const ByteVector bytes = random_bytes(1'000'000) + repetitive_bytes(700'000);
  return bytes;
}

TEST(ByteWriter, WritesPlainFiles) {
  TemporaryFolder folder;
  for (auto compression : {Compression::none, Compression::automatic}) {
    ByteWriter writer(folder / "f", compression);
    write_pieces(writer, content());
    writer.close();
    EXPECT_TRUE(read_bytes(folder / "f") == content());
  }
}

TEST(ByteWriter, WritesGzipThatZlibReads) {
  TemporaryFolder folder;
  ByteWriter writer(folder / "f", Compression::gzip);
  write_pieces(writer, content());
  writer.close();
  EXPECT_TRUE(gunzipped(folder / "f") == content());
  ByteVector stored = read_bytes(folder / "f");
  EXPECT_LT(stored.size(), content().size());
  EXPECT_EQ(ByteVector(stored.begin(), stored.begin() + 3), hex("1f 8b 08"));
}

TEST(ByteWriter, WritesZlibThatZlibReads) {
  TemporaryFolder folder;
  ByteWriter writer(folder / "f", Compression::zlib);
  write_pieces(writer, content());
  writer.close();
  ByteVector stored = read_bytes(folder / "f"), out(content().size());
  uLongf size = out.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(stored.data()), stored.size()),
            Z_OK);
  EXPECT_TRUE(out == content());
}

TEST(ByteWriter, NothingWrittenIsAnEmptyFile) {
  TemporaryFolder folder;
  for (auto compression : {Compression::none, Compression::gzip}) {
    ByteWriter(folder / "f", compression).close();
    EXPECT_EQ(gunzipped(folder / "f"), ByteVector());
  }
}

TEST(ByteWriter, TheFileAppearsAtClose) {
  TemporaryFolder folder;
  write_bytes(folder / "f", bytes_of("old"));
  ByteWriter writer(folder / "f");
  writer.write(bytes_of("new"));
  writer.flush();
  EXPECT_EQ(read_bytes(folder / "f"), bytes_of("old"));
  ASSERT_EQ(folder.names().size(), 2u);
  std::string temporary = *folder.names().begin();
  EXPECT_THAT(temporary, StartsWith(".f.tmp."));
  EXPECT_EQ(read_bytes(folder / temporary), bytes_of("new"));
  EXPECT_EQ(remove_stale_temporaries(folder.path()), 0) << "it is locked";
  writer.close();
  EXPECT_EQ(read_bytes(folder / "f"), bytes_of("new"));
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

TEST(ByteWriter, FlushedCompressedDataCanBeRead) {
  TemporaryFolder folder;
  ByteWriter writer(folder / "f", Compression::gzip);
  writer.write(bytes_of("early"));
  writer.flush();
  ByteReader reader(folder / *folder.names().begin());
  ByteVector got(5);
  EXPECT_EQ(reader.read(got), 5u);
  EXPECT_EQ(got, bytes_of("early"));
  writer.write(bytes_of(" and late"));
  writer.close();
  EXPECT_EQ(gunzipped(folder / "f"), bytes_of("early and late"));
}

TEST(ByteWriter, WithoutCloseNothingIsLeft) {
  TemporaryFolder folder;
  {
    ByteWriter writer(folder / "f");
    writer.write(content());
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(ByteWriter, AClosedWriterWritesNoMore) {
  TemporaryFolder folder;
  ByteWriter writer(folder / "f");
  writer.close();
  std::string expected =
      "cannot write `" + folder / "f" + "`: it is closed, or an earlier write failed";
  EXPECT_EQ(error_of([&] { writer.write(bytes_of("x")); }), expected);
  EXPECT_EQ(error_of([&] { writer.flush(); }), expected);
  EXPECT_EQ(error_of([&] { writer.close(); }), expected);
}

TEST(ByteWriter, WhatCannotBeCreatedIsNamed) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { ByteWriter(folder / "no/f"); }),
              StartsWith("cannot write `" + folder / "no/f" + "`: No such file or directory"));
  EXPECT_THAT(error_of([&] { ByteWriter(folder.path() + "/"); }), HasSubstr("it names no file"));
}

TEST(ByteWriter, AfterAFailureTheOldFileIsAsItWas) {
  TemporaryFolder folder;
  write_bytes(folder / "f", bytes_of("old"));
  rlimit before{};
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit lowered{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &lowered);
  ByteWriter writer(folder / "f");
  std::string at_write = error_of([&] { writer.write(content()); });
  std::string at_close = error_of([&] { writer.close(); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(at_write, StartsWith("cannot write `" + folder / "f" + "`: File too large"));
  EXPECT_THAT(at_close, HasSubstr("an earlier write failed"));
  EXPECT_EQ(read_bytes(folder / "f"), bytes_of("old"));
  EXPECT_THAT(folder.names(), ElementsAre("f"));
}

}  // namespace
}  // namespace belfry::data
