using Freehold.Collections;

namespace Freehold.Benchmarks;

/// <summary>Prices of options: a formula for each element of four arrays.</summary>
internal static class BlackScholes
{
    private const int Count = 1_000_000;

    public static void Run(Pairs pairs)
    {
        double[] spot = new double[Count], strike = new double[Count], years = new double[Count], call = new double[Count];
        TreeArray<double> treeSpot = new(Count), treeStrike = new(Count), treeYears = new(Count), treeCall = new(Count);
        for (var i = 0; i < Count; i++)
        {
            spot[i] = treeSpot[i] = 50 + (i % 101);
            strike[i] = treeStrike[i] = 60 + (i % 89);
            years[i] = treeYears[i] = 0.1 + (i % 37 / 10.0);
        }

        pairs.Compare(
            "Black-Scholes",
            () =>
            {
                Price(spot, strike, years, call);
                return (long)(call[Count / 2] * 1e9);
            },
            () =>
            {
                for (var i = 0; i < treeCall.Chunks.Count; i++)
                {
                    Price(treeSpot.Chunks[i], treeStrike.Chunks[i], treeYears.Chunks[i], treeCall.Chunks[i]);
                }

                return (long)(treeCall[Count / 2] * 1e9);
            });
    }

    private static void Price(ReadOnlySpan<double> spot, ReadOnlySpan<double> strike, ReadOnlySpan<double> years, Span<double> call)
    {
        const double Rate = 0.02, Volatility = 0.3;
        for (var i = 0; i < call.Length; i++)
        {
            var root = Volatility * Math.Sqrt(years[i]);
            var d1 = (Math.Log(spot[i] / strike[i]) + ((Rate + (Volatility * Volatility / 2)) * years[i])) / root;
            call[i] = (spot[i] * Normal(d1)) - (strike[i] * Math.Exp(-Rate * years[i]) * Normal(d1 - root));
        }
    }

    // After Abramowitz and Stegun, 26.2.17.
    private static double Normal(double x)
    {
        var k = 1 / (1 + (0.2316419 * Math.Abs(x)));
        var tail = 0.3989422804014327 * Math.Exp(-x * x / 2) * k * (0.319381530 + (k * (-0.356563782 + (k * (1.781477937 + (k * (-1.821255978 + (k * 1.330274429))))))));
        return x > 0 ? 1 - tail : tail;
    }
}
