using System.Diagnostics;

namespace Freehold.Benchmarks;

/// <summary>Runs a kernel with an array and with a tree, one after the other, and prints the quotients of their times.</summary>
internal sealed class Pairs(int count)
{
    public void Compare(string name, Func<long> withArray, Func<long> withTree)
    {
        var ratios = new double[count];
        double arrayBest = double.MaxValue, treeBest = double.MaxValue;
        for (var i = 0; i < count; i++)
        {
            double array, tree;
            long expected, found;
            if (i % 2 == 0)
            {
                (array, expected) = Time(withArray);
                (tree, found) = Time(withTree);
            }
            else
            {
                (tree, found) = Time(withTree);
                (array, expected) = Time(withArray);
            }

            if (found != expected)
            {
                throw new InvalidOperationException($"{name}: the tree gives {found}, the array {expected}.");
            }

            ratios[i] = tree / array;
            arrayBest = Math.Min(arrayBest, array);
            treeBest = Math.Min(treeBest, tree);
        }

        Array.Sort(ratios);
        Console.WriteLine($"{name,-28} {ratios[count / 2],6:f3}  [{ratios[0]:f3}, {ratios[^1]:f3}]  array {arrayBest * 1e3:f1} ms, tree {treeBest * 1e3:f1} ms");
    }

    private static (double Seconds, long Result) Time(Func<long> run)
    {
        var begin = Stopwatch.GetTimestamp();
        var result = run();
        return (Stopwatch.GetElapsedTime(begin).TotalSeconds, result);
    }
}
