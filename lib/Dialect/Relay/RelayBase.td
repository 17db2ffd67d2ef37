// What every family of the relay op table shares: the dialect, attribute kinds, the row class.
#ifndef RELAY_BASE_TD
#define RELAY_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Relay_Dialect : Dialect {
  let name = "relay";
  let summary = "what is computed: one op per Relay operator on static tensors";
  let cppNamespace = "::tensorturbo::relay";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// The constants that #relay.const attributes refer to; never null.
    const std::shared_ptr<::tensorturbo::ConstantStore> &getConstants() const { return constants; }
    void setConstants(std::shared_ptr<::tensorturbo::ConstantStore> store) { constants = std::move(store); }

  private:
    std::shared_ptr<::tensorturbo::ConstantStore> constants = std::make_shared<::tensorturbo::ConstantStore>();
    // One per family, each defined in that family's own file.
    void registerCoreOps();
    void registerConvOps();
    void registerPoolOps();
    void registerNnOps();
    void registerElemwiseOps();
    void registerReduceOps();
    void registerTransformOps();
    void registerIndexOps();
    void registerAttributes();
  public:
  }];
}

def Relay_Tensor : Type<CPred<"::tensorturbo::relay::isRelayTensor($_self)">,
                        "static tensor of a Relay element type", "::mlir::RankedTensorType">;

// Attribute kinds, with plain C++ getters.
def Relay_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "integer"> {
  let convertFromStorage = "$_self.getValue().getSExtValue()";
  let constBuilderCall = "$_builder.getI64IntegerAttr($0)";
}
def Relay_Float : FloatAttrBase<F64, "float"> {
  let returnType = "double";
  let convertFromStorage = "$_self.getValueAsDouble()";
  let constBuilderCall = "$_builder.getF64FloatAttr($0)";
}
def Relay_Bool : TypedAttrBase<I1, "BoolAttr", CPred<"::llvm::isa<::mlir::BoolAttr>($_self)">, "bool"> {
  let returnType = "bool";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "$_builder.getBoolAttr($0)";
}
def Relay_String : StringBasedAttr<StrAttrPred, "string">;
// An element type by name ("float16"); "" means the data's.
def Relay_DType : StringBasedAttr<
    CPred<"::tensorturbo::relay::isDTypeName(::llvm::dyn_cast<::mlir::StringAttr>($_self))">, "dtype">;
class Relay_Array<Attr base, string text> : Attr<base.predicate, text> {
  let storageType = base.storageType;
  let returnType = base.returnType;
  let convertFromStorage = base.convertFromStorage;
  let constBuilderCall = base.constBuilderCall;
  let valueType = base.valueType;
}
def Relay_Ints : Relay_Array<DenseI64ArrayAttr, "list of integers">;
// Relay's [[before, after], ...] as a flat list.
def Relay_Pairs : Relay_Array<DenseI64ArrayAttr, "list of pairs">;
def Relay_Floats : Relay_Array<DenseF64ArrayAttr, "list of floats">;
def Relay_IntOrInts : Attr<CPred<"::tensorturbo::relay::isIntOrInts($_self)">, "integer or list of integers"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}
class Def<Attr attr, string value> : DefaultValuedAttr<attr, value>;
class DefStr<string value> : DefaultValuedAttr<Relay_String, "\"" # value # "\"">;
def DefDType : DefaultValuedAttr<Relay_DType, "\"\"">;
class Opt<Attr attr> : OptionalAttr<attr>;

// A numbered constraint: `pred` is C++ over the adaptor `op`; `values` are streamed into the message.
class C<int n, string p, string t, list<string> v = []> {
  int number = n;
  string pred = p;
  string text = t;
  list<string> values = v;
}

// Markers that passes ask for.
def Relay_ElementwiseUnary : NativeOpTrait<"ElementwiseUnary"> { let cppNamespace = "::tensorturbo::relay"; }
def Relay_ElementwiseBinary : NativeOpTrait<"ElementwiseBinary"> { let cppNamespace = "::tensorturbo::relay"; }

// Checks the numbered constraints before MLIR compares inferred with actual types, whose own message says less.
def Relay_Checked : NativeOpTrait<"Checked"> { let cppNamespace = "::tensorturbo::relay"; }

// One row of the op table. Relay's order of attributes is the order in `arguments`.
class Relay_Op<string mn, list<Trait> traits = []>
    : Op<Relay_Dialect, mn, !listconcat([Relay_Checked], traits, [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>])> {
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::ValueRange":$operands,
                                CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attributes), [{
    $_state.addOperands(operands);
    $_state.addTypes(types);
    $_state.addAttributes(attributes);
  }]>];
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  // C++ statements that run before the constraints, and the expression that infers the result types.
  string prelude = "";
  string shapeRule = "";
  list<C> constraints = [];
}

#endif
