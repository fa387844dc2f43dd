using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Copies between a tree and a span of one of its own leaves, which overlap: as between parts of an array. The seed is in the test's name.</summary>
public sealed class OverlapTests
{
    public static TheoryData<int> Seeds { get; } = [1, 2, 3, 4];

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Int32(int seed) => Run(seed, number => number, 3 * 4096);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void String(int seed) => Run(seed, number => "n" + number, (2 * 2048) + 99);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void LargeValue(int seed) => Run(seed, Large.Of, 15);

    private static void Run<T>(int seed, Func<int, T> make, int size)
    {
        var random = new Random(seed);
        for (int round = 0; round < 200; round++)
        {
            T[] model = [.. Enumerable.Range(0, size).Select(make)];
            var tree = new TreeList<T>(model);
            int number = random.Next(tree.Chunks.Count);
            Span<T> chunk = tree.Chunks[number];
            int begin = random.Next(chunk.Length), length = random.Next(chunk.Length - begin + 1);
            Span<T> part = chunk.Slice(begin, length);
            int first = Enumerable.Range(0, number).Sum(before => tree.Chunks[before].Length) + begin;
            int other = random.Next(size - length + 1);
            switch (round % 4)
            {
                case 0:
                    tree.CopyFrom(part, other);
                    Array.Copy(model, first, model, other, length);
                    break;
                case 1:
                    tree.Slice(other, length).CopyFrom(part);
                    Array.Copy(model, first, model, other, length);
                    break;
                case 2:
                    tree.Slice(other, length).CopyTo(part);
                    Array.Copy(model, other, model, first, length);
                    break;
                default:
                    tree.AddRange(part);
                    model = [.. model, .. model.AsSpan(first, length)];
                    break;
            }

            Assert.True(model.AsSpan().SequenceEqual(tree.ToArray()), "round " + round);
        }
    }
}
