namespace Freehold.Benchmarks;

/// <summary>What a program tells over time: its resident memory, and when its threads were held up.</summary>
internal sealed class Watch
{
    private readonly StallLog _stalls = new();
    private readonly ResidentSampler _sampler = new();

    /// <summary>Ends it, and writes both series and the steady memory.</summary>
    public void Stop()
    {
        _stalls.Stop(Console.Out);
        Report.Write("steady_pss_bytes", ProcessMemory.Proportional);
        Report.Write("steady_resident_bytes", _sampler.Stop());
        _sampler.Write(Console.Out);
    }
}
