#pragma once
// Sources that read files of records. Files come as lists of paths and are read one after the
// other; pipelines that share them get whole files where there are enough (ShardPolicy).
// "path", "line" and "record" are u8 [length]: text_of() makes a string of one.
//
// Where nothing else is said: no file at all is an Error at once. An element that cannot be read is
// an Error that names the file and the offset, and reading goes on after it, with the next file
// where nothing tells how this one goes on. A position is the file and the offset in it, so that
// restoring reads nothing again, but decompresses a compressed file up to there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/combine/combine.h"
#include "belfry/data/dataset.h"
#include "belfry/data/formats/byte_reader.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/example.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

/// The bytes of a u8 array as text.
std::string text_of(const Array& bytes);
/// The characters of `text` as a u8 array [length].
Array array_of(std::string_view text);

/// Options of list_files().
struct ListFilesOptions {
  /// Puts the paths into an order drawn from this seed. None: they are sorted.
  std::optional<std::uint64_t> shuffle_seed = {};
};

/// The paths that match a pattern with *, ?, [...] (glob(7)). Error: there is none.
std::vector<std::string> list_files(const std::string& pattern, ListFilesOptions options = {});

/// {"path"}: one element a path, with random access. For interleave() and map(): pipelines that
/// share them get whole files, or, where there are fewer files than pipelines, every n-th record
/// that interleave() or flat_map() makes of them. Error: no paths.
Dataset files(std::vector<std::string> paths);

/// Options of text_lines() and tfrecord().
struct RecordOptions {
  Compression compression = Compression::automatic;  ///< how each file is compressed
};

/// {"line"}: the lines of text files, without their ends (LF or CRLF; the last may lack it). Error:
/// a line above 64 MiB, which ends its file.
Dataset text_lines(std::vector<std::string> paths, RecordOptions options = {});

/// Options of fixed_length_records().
struct FixedLengthOptions {
  std::int64_t header_bytes = 0;                     ///< before the first record of each file
  std::int64_t footer_bytes = 0;                     ///< behind the last one
  Compression compression = Compression::automatic;  ///< how each file is compressed
};

/// {"record"}: the records of files that consist of records of `record_bytes` bytes. Error: in a
/// file, a rest that is no whole record; at once, record_bytes or footer_bytes above 2^31.
Dataset fixed_length_records(std::vector<std::string> paths, std::int64_t record_bytes,
                             FixedLengthOptions options = {});

/// Options of csv().
struct CsvFilesOptions {
  CsvOptions csv = {};                               ///< how each file is read
  Compression compression = Compression::automatic;  ///< how each file is compressed
};

/// The records of CSV files, each with its own header if `options.csv.header`, with one feature for
/// each column: see CsvReader. A file with a wrong header is one Error.
Dataset csv(std::vector<std::string> paths, std::vector<CsvColumn> columns,
            CsvFilesOptions options = {});

/// {"record"}: the records of TFRecord files, their checksums checked.
Dataset tfrecord(std::vector<std::string> paths, RecordOptions options = {});

/// The records of the file that {"path"} names, for interleave() and flat_map():
///
///   files(list_files("train-*.tfrecord")) | shuffle(1000) | interleave(read_tfrecords)
///@{
Dataset read_tfrecords(const Features& file);
Dataset read_text_lines(const Features& file);
///@}
/// The same for what needs to be told more.
///@{
MakeDataset read_csv(std::vector<CsvColumn> columns, CsvFilesOptions options = {});
MakeDataset read_fixed_length_records(std::int64_t record_bytes, FixedLengthOptions options = {});
///@}

/// Turns {"record"} into the features of the tf.train.Example in it.
Transform parse_examples(ExampleSpec spec, MapOptions options = {});
/// The same for tf.train.SequenceExample.
Transform parse_sequence_examples(SequenceExampleSpec spec, MapOptions options = {});

/// The rows of the arrays in a file: {"value"} of .npy, the names in it of .npz and .safetensors,
/// or of .npz only those in `names`, if any. The arrays stay in memory. Random access. Errors:
/// those of read_npy(), read_npz(), load_safetensors() and from_arrays().
///@{
Dataset npy(const std::string& path);
Dataset npz(const std::string& path, const std::vector<std::string>& names = {});
Dataset safetensors(const std::string& path);
///@}

/// {"image" [...], "label" i64 []}: the rows of an IDX file, of its type, and the labels of
/// another. The arrays stay in memory. Random access. Errors: those of read_idx(); labels that are
/// not one for each row.
Dataset idx(const std::string& images, const std::string& labels);

}  // namespace belfry::data
