using System.Runtime.Importing;

namespace Internal.Runtime;

[Framework]
internal sealed class FrozenObjectHeapManager
{
    public static FrozenObjectHeapManager Instance;

    public extern T TryAllocateObject<T>() where T : class;
}
