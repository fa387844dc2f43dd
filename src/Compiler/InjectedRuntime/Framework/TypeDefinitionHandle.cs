using System.Runtime.Importing;

namespace Internal.Metadata.NativeFormat;

[Framework]
internal struct TypeDefinitionHandle
{
    public extern TypeDefinition GetTypeDefinition(MetadataReader reader);
}
