// Functions that this compiler puts between caller and callee. They are hidden and of one copy in each program or library.
#include <llvm/IR/DerivedTypes.h>
#include <llvm/Support/raw_ostream.h>

#include "context.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

constexpr const char* kTarget[] = {"target-cpu", "target-features"};

bool tells_passing(Attribute::AttrKind kind, bool by_value) {
  switch (kind) {
    case Attribute::ZExt:
    case Attribute::SExt:
    case Attribute::InReg:
    case Attribute::ByVal:
    case Attribute::StructRet:
    case Attribute::Nest:
    case Attribute::StackAlignment: return true;
    case Attribute::Alignment: return by_value;
    default: return false;
  }
}

// Without names of structures: two files may mean different ones by the same.
void print(Type* type, raw_ostream& stream) {
  if (auto* structure = dyn_cast<StructType>(type); structure != nullptr && !structure->isOpaque()) {
    stream << (structure->isPacked() ? "<{" : "{");
    for (Type* element : structure->elements()) {
      print(element, stream);
      stream << ' ';
    }
    stream << '}';
  } else if (auto* array = dyn_cast<ArrayType>(type)) {
    stream << '[' << array->getNumElements() << ' ';
    print(array->getElementType(), stream);
    stream << ']';
  } else {
    type->print(stream);
  }
}

}  // namespace

AttributeList passing_attributes(const AttributeList& attributes, unsigned arguments, LLVMContext& context) {
  AttributeList result;
  auto copy = [&](unsigned index) {
    for (Attribute attribute : attributes.getAttributes(index)) {
      if (attribute.isStringAttribute() || !tells_passing(attribute.getKindAsEnum(), attributes.hasAttributeAtIndex(index, Attribute::ByVal))) continue;
      result = result.addAttributeAtIndex(context, index, attribute);
    }
  };
  copy(AttributeList::ReturnIndex);
  for (unsigned i = 0; i < arguments; i++) copy(AttributeList::FirstArgIndex + i);
  return result;
}

std::string signature(ArrayRef<Type*> arguments, Type* result, CallingConv::ID convention, const AttributeList& attributes, const Function* user) {
  std::string text;
  raw_string_ostream stream(text);
  bool by_registers = result->isVectorTy();
  stream << convention << '|';
  print(result, stream);
  for (unsigned i = 0; i < arguments.size(); i++) {
    stream << ',';
    print(arguments[i], stream);
    by_registers |= arguments[i]->isVectorTy();
  }
  AttributeList passing = passing_attributes(attributes, static_cast<unsigned>(arguments.size()), result->getContext());
  for (unsigned index : passing.indexes()) {
    stream << '|' << index;
    for (Attribute attribute : passing.getAttributes(index)) {
      stream << ' ' << static_cast<unsigned>(attribute.getKindAsEnum());
      if (attribute.isIntAttribute()) stream << '=' << attribute.getValueAsInt();
      if (attribute.isTypeAttribute() && attribute.getValueAsType() != nullptr) print(attribute.getValueAsType(), stream);
    }
  }
  // Which registers vectors are passed in depends on the target.
  if (by_registers) {
    for (const char* attribute : kTarget) stream << '|' << user->getFnAttribute(attribute).getValueAsString();
  }
  return text;
}

Value* change_pointers(IRBuilderBase& builder, Value* value, function_ref<Value*(Value*)> change) {
  Type* type = value->getType();
  if (type->isPointerTy()) return change(value);
  if (!type->isAggregateType()) return value;
  bool is_array = type->isArrayTy();
  auto count = static_cast<unsigned>(is_array ? type->getArrayNumElements() : type->getStructNumElements());
  for (unsigned i = 0; i < count; i++) {
    Type* member = is_array ? type->getArrayElementType() : type->getStructElementType(i);
    if (!member->isPointerTy() && !member->isAggregateType()) continue;
    value = builder.CreateInsertValue(value, change_pointers(builder, builder.CreateExtractValue(value, i), change), i);
  }
  return value;
}

Function* make_shared(Module& module, FunctionType* type, const Twine& name, const Function* user) {
  auto* function = Function::Create(type, GlobalValue::LinkOnceODRLinkage, name, module);
  function->setVisibility(GlobalValue::HiddenVisibility);
  function->setComdat(module.getOrInsertComdat(function->getName()));
  function->setDSOLocal(true);
  function->addFnAttr("freehold-bridge");
  function->addFnAttr(Attribute::NoInline);
  function->setUWTableKind(UWTableKind::Async);
  for (const char* attribute : {kTarget[0], kTarget[1], "tune-cpu", "frame-pointer", "stack-protector-buffer-size"}) {
    if (user->hasFnAttribute(attribute)) function->addFnAttr(user->getFnAttribute(attribute));
  }
  return function;
}

}  // namespace freehold::compiler
