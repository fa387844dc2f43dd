using BenchmarkDotNet.Characteristics;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Validators;

namespace Freehold.BenchmarkDotNet;

/// <summary>Publishes the benchmarks with one heap under them, and runs them. BenchmarkDotNet's own NativeAotToolchain names a version of ILCompiler itself, and Freehold is made for one.</summary>
/// <param name="heap">Which.</param>
/// <param name="framework">As <c>net10.0</c>.</param>
/// <param name="problems">What is wrong with the attribute, each a whole sentence.</param>
internal sealed class HeapToolchain(HeapKind heap, string framework, IReadOnlyList<string> problems)
    : Toolchain($"{heap.Name} {framework}", new HeapProjectGenerator(heap, framework), new HeapPublisher(), new HeapExecutor())
{
    /// <summary>Whether the program can be asked what its heap did.</summary>
    public bool IsFreehold { get; } = heap.IsFreehold;

    private readonly HeapKind _heap = heap;
    private readonly string _framework = framework;
    private readonly IReadOnlyList<string> _problems = problems;

    /// <inheritdoc />
    public override IEnumerable<ValidationError> Validate(BenchmarkCase benchmarkCase, IResolver resolver)
    {
        foreach (string problem in _problems)
        {
            yield return new ValidationError(isCritical: true, $"The job {benchmarkCase.Job.Id} of {benchmarkCase.Descriptor.Type.Name}: {problem}");
        }

        // Not critical: jobs of another kind, beside these, can run here. The build of these fails.
        if (HeapPublisher.Refusal is { } refusal)
        {
            yield return new ValidationError(isCritical: false, refusal);
        }

        if (HeapExecutor.VariablesOfTheShell is { Count: > 0 } variables)
        {
            yield return new ValidationError(isCritical: false, $"These variables of the shell do not reach the benchmarks: {string.Join(", ", variables)}. [FreeholdJob(Environment = \"NAME=value\")] sets one.");
        }
    }

    /// <summary>Classes with the same job share one publish: BenchmarkDotNet compares their toolchains.</summary>
    public override bool Equals(object? other) => other is HeapToolchain toolchain && _heap == toolchain._heap && _framework == toolchain._framework;

    /// <inheritdoc />
    public override int GetHashCode() => HashCode.Combine(_heap, _framework);
}
