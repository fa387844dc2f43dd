using System.Collections;

namespace Freehold.Contract;

internal static class DebugMode
{
    /// <summary>FREEHOLD_DEBUG=1 or stacks: every use of a deleted object throws, from the first one on.</summary>
    public static bool IsOn { get; } = Environment.GetEnvironmentVariable("FREEHOLD_DEBUG") is "1" or "stacks";
}

internal static class StressMode
{
    /// <summary>Blocks are moved at any moment: a deleted object may share its page with objects of any kind, and then its memory stays.</summary>
    public static bool Moves { get; } = Environment.GetEnvironmentVariable("FREEHOLD_STRESS") is { } modes && (modes.Contains("promote") || modes.Contains("deletion"));
}

/// <summary>One way of using an object, and what it gives when the object lives.</summary>
/// <remarks>
/// Checked four times: on the live object; just after its deletion (as if alive, or the exception); after its memory has gone (the
/// exception; where a stress mode moves objects meanwhile, as if alive is right too); on null (what .NET throws for null).
/// </remarks>
internal sealed class Use<T>(string name, int size, Func<int, T> make, Func<T, object?> use, Type? onNull)
    where T : class
{
    public Case Case => new("use-" + name, _ => Run());

    private void Run()
    {
        var neighbours = new Neighbours<T>(make, size);
        int index = neighbours.Index;
        object? expected = use(make(index));
        Same(expected, use(neighbours.Victim), "the live object");

        T fresh = make(index);
        Heap.Delete(fresh);
        try
        {
            Same(expected, use(fresh), "the object just deleted");
            if (DebugMode.IsOn)
                throw new ContractException("debug mode, and the use of a deleted object did not throw");
        }
        catch (DanglingReferenceException)
        {
        }

        neighbours.Release();
        for (int i = 0; i < 3; i++)
        {
            try
            {
                object? result = use(neighbours.Victim);
                if (!StressMode.Moves)
                    throw new ContractException("the memory is gone, and the use gave " + Describe(result));
                Same(expected, result, "the deleted object");
            }
            catch (DanglingReferenceException)
            {
            }
        }

        if (onNull is null)
            return;
        try
        {
            use(null!);
        }
        catch (Exception exception) when (exception.GetType() == onNull)
        {
            return;
        }
        catch (Exception exception)
        {
            throw new ContractException("null gave " + exception);
        }
        throw new ContractException("null did not throw " + onNull.Name);
    }

    private static void Same(object? expected, object? actual, string what)
    {
        if (!StructuralComparisons.StructuralEqualityComparer.Equals(expected, actual))
            throw new ContractException($"{what}: {Describe(actual)} and not {Describe(expected)}");
    }

    private static string Describe(object? value) => value is null ? "null" : value.ToString() ?? "";
}
