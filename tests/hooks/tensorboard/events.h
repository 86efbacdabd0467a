#pragma once
// Event files, as words.

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/protobuf_wire.h"

namespace belfry::hooks {

using protobuf::WireReader;
using protobuf::WireType;

/// Paths of the event files in a folder, by name.
inline std::vector<std::string> event_files(const std::string& dir) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().filename().string().starts_with("events.out.tfevents."))
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<std::vector<std::byte>> records_of(const std::string& path) {
  data::TfRecordReader reader(path);
  std::vector<std::vector<std::byte>> out;
  for (std::vector<std::byte> record; reader.next(record);) out.push_back(record);
  return out;
}

/// "loss=0.5", or "text" with the plugin's name for a tensor's, or "w:histo".
inline std::string word_of_value(WireReader value) {
  std::string tag, content;
  while (value.next()) {
    if (value.is(1, WireType::length_delimited)) tag = value.text();
    if (value.is(2, WireType::fixed32)) content = "=" + text(std::bit_cast<float>(value.fixed32()));
    if (value.is(4, WireType::length_delimited)) content = ":image";
    if (value.is(5, WireType::length_delimited)) content = ":histogram";
    if (value.is(9, WireType::length_delimited)) {
      WireReader metadata = value.message();
      metadata.next();
      WireReader plugin = metadata.message();
      plugin.next();
      content = concat(":", plugin.text());
    }
  }
  return tag + content;
}

/// One word a value, with the step before it: "3 loss=0.5", "0 session 1", "0 graph"; the first
/// record is "version".
inline std::vector<std::string> words_of(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& record : records_of(path)) {
    std::uint64_t step = 0;
    WireReader event(record);
    while (event.next()) {
      if (event.is(2, WireType::varint)) step = event.varint();
      if (event.is(3, WireType::length_delimited)) out.push_back("version");
      if (event.is(4, WireType::length_delimited)) out.push_back(concat(step, " graph"));
      if (event.is(5, WireType::length_delimited))
        for (WireReader summary = event.message(); summary.next();)
          out.push_back(concat(step, " ", word_of_value(summary.message())));
      if (event.is(7, WireType::length_delimited)) {
        WireReader session = event.message();
        session.next();
        out.push_back(concat(step, " session ", session.varint()));
      }
    }
  }
  return out;
}

}  // namespace belfry::hooks
