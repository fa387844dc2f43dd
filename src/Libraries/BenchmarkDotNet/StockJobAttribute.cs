namespace Freehold.BenchmarkDotNet;

/// <summary>Runs the benchmarks of a class published with NativeAOT and the stock garbage collector, by the same compiler.</summary>
/// <param name="launchCount">How often the process is started; -1 leaves that, as the others, to BenchmarkDotNet.</param>
/// <param name="warmupCount">Iterations before it measures.</param>
/// <param name="iterationCount">Iterations that it measures.</param>
/// <param name="invocationCount">Calls in an iteration.</param>
/// <param name="baseline">Whether the others are compared with this.</param>
/// <param name="server">The server collector instead of the workstation's.</param>
public sealed class StockJobAttribute(int launchCount = -1, int warmupCount = -1, int iterationCount = -1, int invocationCount = -1, bool baseline = false, bool server = false)
    : HeapJobAttribute(server ? HeapKind.Server : HeapKind.Workstation, launchCount, warmupCount, iterationCount, invocationCount, baseline);
