namespace Freehold.Differential;

/// <summary>Deletion in the Freehold build, nothing in the stock build: the two must print the same.</summary>
internal static class Manual
{
#if FREEHOLD
    public static bool IsLive => Heap.IsManual;

    public static void Delete(object? value) => Heap.Delete(value);
#else
    public static bool IsLive => false;

    public static void Delete(object? value) => _ = value;
#endif
}
