#pragma once
// The binary files of CIFAR-10 and CIFAR-100: https://www.cs.toronto.edu/~kriz/cifar.html.

#include <string>

#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// Reads one file of CIFAR-10's binary version (data_batch_1.bin, test_batch.bin): "image"
/// u8 [n, 32, 32, 3] in RGB and "label" i64 [n], 0 to 9. A record is one byte of label and 3 x 1024
/// bytes of pixels: all red ones row by row, then green, then blue. Error naming the file: it
/// cannot be read, is empty or no multiple of 3073 bytes long, or (with the byte's offset) a label
/// above 9.
Features read_cifar10(const std::string& path);

/// The same for CIFAR-100 (train.bin, test.bin), whose records of 3074 bytes begin with two labels:
/// "label" i64 [n] is the fine one, 0 to 99, and "coarse_label" i64 [n] the superclass, 0 to 19.
Features read_cifar100(const std::string& path);

}  // namespace belfry::data
