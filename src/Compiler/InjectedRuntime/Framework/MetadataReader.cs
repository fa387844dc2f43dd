using System.Runtime.Importing;

namespace Internal.Metadata.NativeFormat;

[Framework]
internal sealed class MetadataReader
{
    public extern bool StringEquals(ConstantStringValueHandle handle, string value);
}
