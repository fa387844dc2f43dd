namespace Freehold.BenchmarkDotNet;

/// <summary>Runs the benchmarks of a class published with NativeAOT and Freehold, with columns of what the heap did.</summary>
/// <param name="launchCount">How often the process is started; -1 leaves that, as the others, to BenchmarkDotNet.</param>
/// <param name="warmupCount">Iterations before it measures.</param>
/// <param name="iterationCount">Iterations that it measures.</param>
/// <param name="invocationCount">Calls in an iteration.</param>
/// <param name="baseline">Whether the others are compared with this.</param>
public sealed class FreeholdJobAttribute(int launchCount = -1, int warmupCount = -1, int iterationCount = -1, int invocationCount = -1, bool baseline = false)
    : HeapJobAttribute(HeapKind.Freehold, launchCount, warmupCount, iterationCount, invocationCount, baseline);
