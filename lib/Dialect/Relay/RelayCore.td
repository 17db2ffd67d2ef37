// Constants.
include "RelayBase.td"

def Relay_ConstAttr : AttrDef<Relay_Dialect, "Const", [TypedAttrInterface]> {
  let mnemonic = "const";
  let summary = "a tensor of the constant store: its id and the hash of its content";
  let parameters = (ins AttributeSelfTypeParameter<"">:$type, "uint64_t":$id, "uint64_t":$hash);
  let assemblyFormat = "`<` $id `,` $hash `>`";
}

def Relay_ConstantOp : Op<Relay_Dialect, "constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Relay_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}
