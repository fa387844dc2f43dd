using Xunit;

namespace Freehold.Collections.Tests;

/// <summary>Random programs on a <see cref="TreeList{T}"/> and a <see cref="List{T}"/>, which must stay the same. The seed is in the test's name.</summary>
public sealed class ListModelTests
{
    public static TheoryData<int> Seeds { get; } = [1, 2, 3, 4];

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Int32(int seed) => Run(seed, number => number, 400, 30_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void Byte(int seed) => Run(seed, number => (byte)number, 300, 60_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void String(int seed) => Run(seed, number => "n" + (number % 5000), 300, 15_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void TripleOfBytes(int seed) => Run(seed, Triple.Of, 300, 40_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void ValueWithReference(int seed) => Run(seed, Named.Of, 300, 15_000);

    [Theory]
    [MemberData(nameof(Seeds))]
    public void LargeValue(int seed) => Run(seed, Large.Of, 150, 40);

    private static void Run<T>(int seed, Func<int, T> make, int steps, int size)
    {
        var random = new Random(seed);
        var model = new List<T>();
        var list = new TreeList<T>();
        for (int step = 0; step < steps; step++)
        {
            Step(random, make, model, list, size);
            Assert.Equal(model.Count, list.Count);
            Assert.True(list.Capacity >= list.Count);
            if (step % 10 == 0)
            {
                Same(model, list);
            }
        }

        Same(model, list);
    }

    private static void Step<T>(Random random, Func<int, T> make, List<T> model, TreeList<T> list, int size)
    {
        int count = model.Count, at = random.Next(count + 1), length = random.Next(count - at + 1);
        T item = make(random.Next(1_000_000));
        T[] items = count > 4 * size ? [] : [.. Enumerable.Range(0, random.Next(size)).Select(_ => make(random.Next(1_000_000)))];
        switch (random.Next(20))
        {
            case 0:
                model.AddRange(items);
                list.AddRange(items.AsSpan());
                break;
            case 1:
                model.AddRange(items);
                list.AddRange(items.Where(_ => true));
                break;
            case 2:
                model.InsertRange(at, items);
                list.InsertRange(at, items.AsSpan());
                break;
            case 3:
                model.InsertRange(at, items);
                list.InsertRange(at, items.Where(_ => true));
                break;
            case 4 when count < 2 * size:
                model.InsertRange(at, model);
                list.InsertRange(at, list);
                break;
            case 5 when count < 2 * size:
                model.AddRange([.. model]);
                list.AddRange(list);
                break;
            case 6 or 7:
                model.RemoveRange(at, length);
                list.RemoveRange(at, length);
                break;
            case 8:
                int remainder = random.Next(2, 5), number = 0, other = 0;
                Assert.Equal(model.RemoveAll(_ => number++ % remainder == 0), list.RemoveAll(_ => other++ % remainder == 0));
                break;
            case 9:
                model.Sort();
                list.Sort();
                break;
            case 10:
                model.Sort(at, length, Comparer<T>.Create((x, y) => Comparer<T>.Default.Compare(y, x)));
                list.Slice(at, length).Sort((x, y) => Comparer<T>.Default.Compare(y, x));
                break;
            case 11:
                model.Reverse(at, length);
                list.Slice(at, length).Reverse();
                break;
            case 12 when random.Next(4) == 0:
                model.Clear();
                list.Clear();
                break;
            case 13:
                list.TrimExcess();
                break;
            case 14:
                list.EnsureCapacity(random.Next(2 * size));
                break;
            case 15:
                T wanted = count == 0 ? item : model[random.Next(count)];
                Assert.Equal(model.IndexOf(wanted), list.IndexOf(wanted));
                Assert.Equal(model.IndexOf(item), list.IndexOf(item));
                Assert.Equal(model.Remove(wanted), list.Remove(wanted));
                break;
            case 16:
                model.GetRange(at, length).CopyTo([.. model]);
                T[] copy = [.. model.Skip(at).Take(length)];
                int to = random.Next(count - length + 1);
                for (int i = 0; i < length; i++)
                {
                    model[to + i] = copy[i];
                }

                list.Slice(at, length).CopyTo(list.Slice(to, length));
                break;
            case 17 when at < count:
                model.RemoveAt(at);
                list.RemoveAt(at);
                break;
            case 18:
                model.Insert(at, item);
                list.Insert(at, item);
                break;
            default:
                for (int i = 0; i < 50; i++)
                {
                    model.Add(item);
                    list.Add(item);
                }

                if (at < count)
                {
                    model[at] = item;
                    list[at] = item;
                }

                break;
        }
    }

    // By each way of reading.
    private static void Same<T>(List<T> model, TreeList<T> list)
    {
        Assert.True(model.SequenceEqual(list));
        int index = 0;
        foreach (T item in list)
        {
            Assert.Equal(model[index++], item);
        }

        Assert.Equal(model.Count, index);
        index = 0;
        foreach (Span<T> chunk in list.Chunks)
        {
            foreach (T item in chunk)
            {
                Assert.Equal(model[index++], item);
            }
        }

        Assert.Equal(model.Count, index);
        TreeCursor<T> cursor = list.Cursor();
        for (int i = 0; i < model.Count; i += 7)
        {
            Assert.Equal(model[i], list[i]);
            Assert.Equal(model[i], cursor[i]);
        }

        Assert.Equal(model, list.ToArray());
    }
}
