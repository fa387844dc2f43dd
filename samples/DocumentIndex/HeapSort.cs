namespace DocumentIndex;

/// <summary>The order of numbers in a sort.</summary>
internal interface INumberOrder
{
    bool IsBefore(int a, int b);
}

/// <summary>
/// Sorts in place. The sorts of the framework allocate a delegate for each call, which nobody could delete: it would stay
/// among the objects of a document and keep their page.
/// </summary>
internal static class HeapSort
{
    public static void Sort<TOrder>(Span<int> numbers, TOrder order)
        where TOrder : struct, INumberOrder
    {
        for (var i = (numbers.Length / 2) - 1; i >= 0; i--)
        {
            SiftDown(numbers, i, order);
        }

        for (var end = numbers.Length - 1; end > 0; end--)
        {
            (numbers[0], numbers[end]) = (numbers[end], numbers[0]);
            SiftDown(numbers[..end], 0, order);
        }
    }

    private static void SiftDown<TOrder>(Span<int> numbers, int i, TOrder order)
        where TOrder : struct, INumberOrder
    {
        while (true)
        {
            var child = (2 * i) + 1;
            if (child >= numbers.Length)
            {
                return;
            }

            if (child + 1 < numbers.Length && order.IsBefore(numbers[child], numbers[child + 1]))
            {
                child++;
            }

            if (!order.IsBefore(numbers[i], numbers[child]))
            {
                return;
            }

            (numbers[i], numbers[child]) = (numbers[child], numbers[i]);
            i = child;
        }
    }
}

/// <summary>Smaller numbers first.</summary>
internal readonly struct Ascending : INumberOrder
{
    public bool IsBefore(int a, int b) => a < b;
}
