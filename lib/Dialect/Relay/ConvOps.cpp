// Constraints and shape rules of convolutions.
#include "Dialect/Relay/RelayConv.h"
#include "Dialect/Relay/RelayInfer.h"
#include <type_traits>

namespace tensorturbo::relay::infer {

template <typename Adaptor, typename = void> struct HasOutputPadding : std::false_type {};
template <typename Adaptor>
struct HasOutputPadding<Adaptor, std::void_t<decltype(std::declval<Adaptor>().getOutputPadding())>>
    : std::true_type {};

/// The numbers of a convolution, read through its layouts.
struct ConvInfo {
  template <typename Adaptor>
  ConvInfo(Adaptor op, StringRef spatial, bool transposed) : spatial(spatial), transposed(transposed) {
    n = spatial.size();
    dataLayoutOk = isLayout(op.getDataLayout(), ("NC" + spatial).str());
    kernelLayoutOk = isLayout(op.getKernelLayout(), ("OI" + spatial).str());
    shapesOk = rankOk(op.getData()) && rankOk(op.getWeight()) && dataLayoutOk && kernelLayoutOk;
    groups = std::max<int64_t>(op.getGroups(), 1);
    if (!shapesOk)
      return;
    cin = dim(op.getData(), axisOf(op.getDataLayout(), 'C'));
    int64_t o = dim(op.getWeight(), axisOf(op.getKernelLayout(), 'O'));
    weightInputs = dim(op.getWeight(), axisOf(op.getKernelLayout(), 'I'));
    cout = transposed ? mulSat(o, groups) : o;
    for (char letter : spatial) {
      kernel.push_back(dim(op.getWeight(), axisOf(op.getKernelLayout(), letter)));
      inputs.push_back(dim(op.getData(), axisOf(op.getDataLayout(), letter)));
    }
    numbersOk =
        positive(op.getStrides(), n) && positive(op.getDilation(), n) && nonNegative(op.getPadding(), 2 * n);
    if (!numbersOk)
      return;
    for (int64_t i = 0; i < n; ++i) {
      int64_t extent = addSat(mulSat(kernel[i] - 1, op.getDilation()[i]), 1);
      int64_t pads = op.getPadding()[i] + op.getPadding()[i + n], stride = op.getStrides()[i];
      if (transposed) {
        int64_t extra = 0;
        if constexpr (HasOutputPadding<Adaptor>::value)
          extra = static_cast<int64_t>(op.getOutputPadding().size()) == n ? op.getOutputPadding()[i] : 0;
        outputSpatial.push_back(addSat(addSat(mulSat(stride, inputs[i] - 1), extent), extra - pads));
      } else {
        int64_t room = addSat(inputs[i] + pads, -extent);
        outputSpatial.push_back(room < 0 || kernel[i] < 1 ? 0 : room / stride + 1);
      }
    }
  }

  bool rankOk(Value v) const { return rank(v) == n + 2; }
  bool complete() const { return shapesOk && numbersOk; }
  bool channelsMatch() const {
    return transposed ? cin == weightInputs && cin % groups == 0 : cin == mulSat(weightInputs, groups);
  }
  bool groupsDivide() const { return transposed || cout % groups == 0; }
  bool outputsPositive() const {
    return llvm::all_of(outputSpatial, [](int64_t d) { return d > 0; });
  }

  template <typename Adaptor> LogicalResult infer(InferContext &c, Adaptor op) const {
    StringRef layout = op.getDataLayout();
    llvm::SmallVector<int64_t> shape(n + 2);
    shape[axisOf(layout, 'N')] = dim(op.getData(), axisOf(layout, 'N'));
    shape[axisOf(layout, 'C')] = cout;
    for (auto [letter, extent] : llvm::zip_equal(spatial, outputSpatial))
      shape[axisOf(layout, letter)] = extent;
    return c.add(shape, c.dtype(op.getOutDtype(), op.getData()));
  }

  StringRef spatial;
  bool transposed;
  int64_t n = 0, cin = 0, cout = 0, weightInputs = 0, groups = 1;
  bool dataLayoutOk = false, kernelLayoutOk = false, shapesOk = false, numbersOk = false;
  llvm::SmallVector<int64_t> kernel, inputs, outputSpatial;
};

} // namespace tensorturbo::relay::infer

#include "Dialect/Relay/RelayConv.infer.inc"
