using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Random programs on a <see cref="TreeArray{T}"/> and an array, which must stay the same. The seed is in the test's name.</summary>
public sealed class ArrayModelTests
{
    public static TheoryData<int> Seeds { get; } = [1, 2, 3, 4];

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Int64(int seed) => Run(seed, number => (long)number, 300, 20_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Byte(int seed) => Run(seed, number => (byte)number, 300, 100_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void String(int seed) => Run(seed, number => number.ToString(), 200, 15_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void LargeValue(int seed) => Run(seed, Large.Of, 100, 40);

    private static void Run<T>(int seed, Func<int, T> make, int steps, int size)
    {
        var random = new Random(seed);
        T[] model = [];
        var tree = new TreeArray<T>(0);
        for (int step = 0; step < steps; step++)
        {
            int at = random.Next(model.Length + 1), length = random.Next(model.Length - at + 1);
            T item = make(random.Next(1_000_000));
            switch (random.Next(12))
            {
                case 0 or 1 or 2:
                    int newLength = random.Next(size);
                    Array.Resize(ref model, newLength);
                    tree.Resize(newLength);
                    break;
                case 3:
                    model.AsSpan(at, length).Fill(item);
                    tree.Slice(at, length).Fill(item);
                    break;
                case 4:
                    model.AsSpan(at, length).Clear();
                    tree.Slice(at, length).Clear();
                    break;
                case 5:
                    T[] items = [.. Enumerable.Range(0, length).Select(_ => make(random.Next(1_000_000)))];
                    items.CopyTo(model, at);
                    tree.CopyFrom(items, at);
                    break;
                case 6:
                    Array.Sort(model, at, length);
                    tree.Slice(at, length).Sort();
                    break;
                case 7:
                    Array.Sort(model);
                    tree.Sort();
                    T wanted = model.Length == 0 || random.Next(2) == 0 ? item : model[random.Next(model.Length)];
                    int found = tree.BinarySearch(wanted), expected = Array.BinarySearch(model, wanted);
                    Assert.Equal(expected < 0, found < 0);
                    Assert.True(found < 0 ? found == expected : Comparer<T>.Default.Compare(tree[found], wanted) == 0);
                    break;
                case 8:
                    T[] copy = new T[model.Length + 3];
                    tree.CopyTo(copy, 3);
                    Assert.Equal(model, copy[3..]);
                    T[] part = new T[length];
                    tree.Slice(at, length).CopyTo(part);
                    Assert.Equal(model.AsSpan(at, length).ToArray(), part);
                    break;
                case 9 when random.Next(4) == 0:
                    tree.Fill(item);
                    Array.Fill(model, item);
                    tree.Clear();
                    Array.Clear(model);
                    break;
                default:
                    foreach (ref T element in tree)
                    {
                        element = item;
                    }

                    for (int i = 0; i < model.Length; i += 3)
                    {
                        tree[i] = make(i);
                    }

                    for (int i = 0; i < model.Length; i++)
                    {
                        model[i] = i % 3 == 0 ? make(i) : item;
                    }

                    break;
            }

            Assert.Equal(model.Length, tree.Length);
            Assert.True(model.AsSpan().SequenceEqual(tree.ToArray()), "step " + step);
        }
    }
}
