#pragma once
// The values of CSV fields. Internal to data/: see csv.h.

#include <string>
#include <string_view>

#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/vocabulary.h"

namespace belfry::data {

/// The field for messages: in quotes, and not all of a long one.
std::string shown(std::string_view field);

/// Without spaces and tabs around it.
std::string_view trim(std::string_view field);

/// How many fields make the column's feature.
std::size_t fields_of(const CsvColumn& column);

/// Puts the value of `field` into `out`, whose memory is used again, at `field_index` of the
/// fields_of() of the column. Error, without saying where: it is no value of the column's type.
void convert_field(const CsvColumn& column, const Vocabulary& vocabulary, const std::string& field,
                   std::size_t field_index, Array& out);

}  // namespace belfry::data
