using System.Collections.Generic;
using System.Runtime.Importing;
using Internal.Metadata.NativeFormat;

namespace System.Reflection.Runtime.General;

[Framework]
internal static class NativeFormatMetadataReaderExtensions
{
    public static extern IEnumerable<TypeDefinitionHandle> GetTopLevelTypes(this MetadataReader reader, IEnumerable<NamespaceDefinitionHandle> namespaces);
}
