namespace Freehold.Contract;

/// <summary>Every case, in the order in which `Contract list` prints them.</summary>
internal static class Catalog
{
    public static readonly Case[] All =
    [
        .. UsesOfObjects.All(),
        .. UsesOfArrays.All(),
        .. UsesOfSpans.All(),
        .. Throwing.All(),
        .. Deleting.All(),
        .. Finalizing.All(),
        .. Owning.All(),
        .. OwningCollections.All(),
        .. OwningDocuments.All(),
        .. OwningShared.All(),
        .. OwningOfFramework.All(),
        .. OwningMistakes.All(),
        .. DeletingGraphs.All(),
        .. Scopes.All(),
        .. Outgrowing.All(),
        .. Pinning.All(),
        .. ForeignMemory.All(),
        .. Locking.All(),
        .. LockingOfDeleted.All(),
        .. TailCalls.All(),
        .. Weak.All(),
        .. Unreachable.All(),
        .. Reclaiming.All(),
        .. YoungReclaiming.All(),
        .. Leaks.All(),
        .. Pressure.All(),
        .. Collector.All(),
        .. Memory.All(),
        .. Stopping.All(),
        .. UsedUpMappings.All(),
        .. UsedUpMappings.OfTerabyte(),
        .. AddressSpace.All(),
        .. Moving.All(),
        .. Debugging.All(),
        .. Guarding.All(),
        .. Outside.All(),
        .. Outside.Ends(),
        .. Outside.InNativeCode(),
        .. Crashing.All(),
        .. Optimising.All(),
        .. StackObjects.All(),
#if NET10_0_OR_GREATER
        .. GenericHandles.All(),
#endif
        .. Modelling.All(),
    ];
}
