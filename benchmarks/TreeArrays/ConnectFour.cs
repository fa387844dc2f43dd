using Freehold.Collections;

namespace Freehold.Benchmarks;

/// <summary>The table of positions of a game-tree search, in an array or in a tree.</summary>
internal interface ITable
{
    int Length { get; }

    ref ulong At(int index);
}

internal readonly struct ArrayTable(ulong[] entries) : ITable
{
    public int Length => entries.Length;

    public ref ulong At(int index) => ref entries[index];
}

internal readonly struct TreeTable(TreeArray<ulong> entries) : ITable
{
    public int Length => entries.Length;

    public ref ulong At(int index) => ref entries[index];
}

/// <summary>Connect Four to a fixed depth: alpha-beta with a table, as in connect_four.h.</summary>
internal struct ConnectFour<TTable>(TTable table)
    where TTable : struct, ITable
{
    private const int Height = 7;
    private readonly int _mask = table.Length - 1;

    public long Nodes { get; private set; }

    public int Best(ulong own, ulong other, int depth, int alpha, int beta)
    {
        Nodes++;
        if (depth == 0)
        {
            return 0;
        }

        var key = (own + (own | other)) * 0x9E3779B97F4A7C15;
        var entry = table.At((int)(key >> 20) & _mask);
        if (entry >> 16 == key >> 16 && (int)((entry >> 8) & 0xFF) == depth)
        {
            return (sbyte)(entry & 0xFF);
        }

        var value = -100;
        foreach (var column in (ReadOnlySpan<int>)[3, 2, 4, 1, 5, 0, 6])
        {
            var place = ((own | other) + (1UL << (column * Height))) & (0x7FUL << (column * Height));
            if ((place & (0x40UL << (column * Height))) != 0 || place == 0)
            {
                continue;
            }

            var moved = own | (place & ~(own | other));
            value = Math.Max(value, Wins(moved) ? depth : -Best(other, moved, depth - 1, -beta, -alpha));
            alpha = Math.Max(alpha, value);
            if (alpha >= beta)
            {
                break;
            }
        }

        value = value == -100 ? 0 : value;
        table.At((int)(key >> 20) & _mask) = (key & ~0xFFFFUL) | ((ulong)depth << 8) | (byte)value;
        return value;
    }

    private static bool Wins(ulong stones)
    {
        foreach (var step in (ReadOnlySpan<int>)[1, Height, Height - 1, Height + 1])
        {
            var pairs = stones & (stones >> step);
            if ((pairs & (pairs >> (2 * step))) != 0)
            {
                return true;
            }
        }

        return false;
    }
}
