#pragma once
// tf.train.Example and tf.train.SequenceExample, by these names for sources of data too.

#include "belfry/framework/tensor/example.h"

namespace belfry::data {

using tf::Example;
using tf::ExampleSpec;
using tf::Feature;
using tf::FeatureMap;
using tf::FixedLen;
using tf::FixedLenSequence;
using tf::parse_example;
using tf::parse_sequence_example;
using tf::SequenceExample;
using tf::SequenceExampleSpec;
using tf::StringList;
using tf::VarLen;
using tf::VarLenSequence;

}  // namespace belfry::data
