// NumPy's .npy and .npz files: named dense arrays from and to disk. Files are untrusted.
#pragma once
#include "Support/DType.h"
#include "Support/Diagnostics.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo {

/// A dense array: row-major, little-endian bytes.
struct NpyArray {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

/// By key; the ".npy" of the member's file name is cut off.
using NpzArrays = std::map<std::string, NpyArray>;

/// Parses the contents of a .npy file. Big-endian and Fortran-ordered arrays are converted. Errors (not a
/// .npy file, truncated, an element type without counterpart ...) are user errors that name `what`.
std::optional<NpyArray> parseNpy(std::string_view contents, const std::string &what, Diagnostics &diags);
/// The bytes of a .npy file (version 1.0). bfloat16 is written as 2-byte void, as ml_dtypes does.
std::vector<uint8_t> formatNpy(const NpyArray &array);

std::optional<NpyArray> readNpy(const std::string &path, Diagnostics &diags);
/// Members that are not .npy files are user errors. Stored and deflated members are read.
std::optional<NpzArrays> readNpz(const std::string &path, Diagnostics &diags);
bool writeNpy(const std::string &path, const NpyArray &array, Diagnostics &diags);
/// Members are stored without compression, in the order of their names.
bool writeNpz(const std::string &path, const NpzArrays &arrays, Diagnostics &diags);

} // namespace tensorturbo
