using System.Runtime.Importing;

namespace Internal.Metadata.NativeFormat;

[Framework]
internal struct NamespaceDefinitionHandle;
