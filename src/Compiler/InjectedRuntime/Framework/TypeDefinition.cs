using System.Runtime.Importing;

namespace Internal.Metadata.NativeFormat;

[Framework]
internal struct TypeDefinition
{
    public extern ConstantStringValueHandle Name { get; }
}
