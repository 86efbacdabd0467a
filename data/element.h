#pragma once
// The elements that flow through an input pipeline.

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// One example (or, after batch, one batch) and where it came from. `index` and `epoch` name it:
/// transforms key their random numbers by the two, so these do not depend on threads or timing.
struct Element {
  Features features;        ///< the example or batch
  std::int64_t index = 0;   ///< its number in the source; after batch, the number of the batch
  std::uint64_t epoch = 0;  ///< the pass of repeat() that read it, from 0
  /// The file that it was read from, if it was one, and where in it, in bytes.
  std::shared_ptr<const std::string> file = {};
  std::int64_t offset = whole_file;  ///< in the uncompressed data, or `whole_file`

  static constexpr std::int64_t whole_file = -1;  ///< the element is all that is in its file
};

/// Names `out` as `other` is named: index, epoch, file and offset.
inline void copy_name(const Element& other, Element& out) {
  out.index = other.index;
  out.epoch = other.epoch;
  out.file = other.file;
  out.offset = other.offset;
}

/// "element 17, epoch 2", or "element 17, epoch 2, of digits.tfrecord at byte 4096"
std::string to_string(const Element& element);

/// The name of a stage of a pipeline. Stages of one name in one pipeline are numbered from the
/// source on: "map 1", "map 2".
struct StageName {
  std::string text;   ///< "map 2"
  bool told = false;  ///< in every Error, since it tells more than what kind of stage it is
};

/// Runs a user's function for an element. What it throws leaves as an Error that names the element:
/// "map: no such file (at element 17, epoch 2)"; std::bad_alloc leaves as it is. `where` is added
/// to an Error, unless it is empty: "label 12 of 10 (at element 17, epoch 2, in map 2)".
template <class Body>
decltype(auto) for_element(std::string_view what, const Element& element, Body&& body,
                           std::string_view where = {}) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(concat("at ", to_string(element), where.empty() ? "" : ", in ", where));
    throw;
  } catch (const std::bad_alloc&) {  // says nothing against the element
    throw;
  } catch (const std::exception& error) {
    fail(what, ": ", error.what(), " (at ", to_string(element), ")");
  } catch (...) {
    fail(what, ": something that is no std::exception was thrown (at ", to_string(element), ")");
  }
}

/// The same for a stage: its name is `what`, and `where` too if it is told.
template <class Body>
decltype(auto) for_element(const StageName& stage, const Element& element, Body&& body) {
  return for_element(stage.text, element, body, stage.told ? stage.text : std::string_view());
}

/// Error unless every array is defined: what a user's function returned goes no further otherwise.
void require_defined(const Features& features);

/// Makes `features` hold exactly these names and types, each with memory that may be overwritten:
/// the memory already there when nobody else holds it, new memory otherwise. Values are undefined.
void prepare(Features& features, const Signature& signature);

}  // namespace belfry::data
