namespace Freehold.Benchmarks;

internal interface IKernel
{
    /// <summary>Does the work once, without allocating; the result is part of the output.</summary>
    double Run();
}
