// Shared by the reader's files; not for users of the library.
#pragma once
#include "Import/onnx/Model.h"
#include <string>

namespace tensorturbo::onnx {

/// Resolves the data of every tensor after the file has been parsed: counts, sizes, external files.
class TensorReader {
public:
  TensorReader(std::shared_ptr<const MappedFile> file, Diagnostics &diags);
  /// Checks dims and type of `tensor` and finds or decodes its data. False after errors.
  bool resolve(Tensor &tensor);
  /// A sparse tensor (values, indices, dims) made dense. False after errors.
  bool resolveSparse(Tensor &values, Tensor &indices, const std::vector<int64_t> &dims, Tensor &dense);

private:
  struct External {
    std::string_view location, offset, length;
    bool hasOffset = false, hasLength = false;
  };
  bool checkDims(const std::vector<int64_t> &dims, unsigned bits, uint64_t &bytes,
                 std::string &message) const;
  bool resolveTyped(Tensor &tensor, uint64_t wantedBytes, std::string &message);
  bool resolveExternal(Tensor &tensor, const External &external, uint64_t wantedBytes, std::string &message);

  std::shared_ptr<const MappedFile> file;
  std::string folder;
  Diagnostics &diags;
  std::map<std::string, std::shared_ptr<const MappedFile>> externalFiles;
};

} // namespace tensorturbo::onnx
