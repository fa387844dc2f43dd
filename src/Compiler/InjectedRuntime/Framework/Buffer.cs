using System.Runtime;
using System.Runtime.Importing;

namespace System;

[Framework]
internal static unsafe class Buffer
{
    /// <summary>What <c>BulkMoveWithWriteBarrier</c> moves at once.</summary>
    [Injected]
    internal const int Chunk = 16384;

    /// <summary>Bytes between two safe points: 10 microseconds or so, a thousand times what a safe point costs.</summary>
    [Injected]
    private const int Piece = 65536;

    /// <summary>Moves piece by piece, in the direction that an overlap asks for.</summary>
    [VersionName("MoveByReference")]
    [Replacement]
    internal static void MoveByReference(ref byte destination, ref byte source, nuint size)
    {
        if (size > Piece)
        {
            if ((nuint)FreeholdRuntime.CurrentDifference(ref destination, ref source) >= size)
            {
                do
                {
                    FreeholdRuntime.MoveBlock(ref destination, ref source, Piece);
                    destination = ref Il.Add(ref destination, Piece);
                    source = ref Il.Add(ref source, Piece);
                    size -= Piece;
                    FreeholdRuntime.SafePoint();
                }
                while (size > Piece);
            }
            else
            {
                do
                {
                    size -= Piece;
                    FreeholdRuntime.MoveBlock(ref Il.Add(ref destination, size), ref Il.Add(ref source, size), Piece);
                    FreeholdRuntime.SafePoint();
                }
                while (size > Piece);
            }
        }

        FreeholdRuntime.MoveBlock(ref destination, ref source, size);
    }

    /// <summary>Fills with zeros, piece by piece.</summary>
    [VersionName("FillByReference")]
    [Replacement]
    internal static void FillByReference(ref byte place, nuint size)
    {
        while (size > Piece)
        {
            FreeholdRuntime.FillBlock(ref place, 0, Piece);
            place = ref Il.Add(ref place, Piece);
            size -= Piece;
            FreeholdRuntime.SafePoint();
        }

        FreeholdRuntime.FillBlock(ref place, 0, size);
    }

    [VersionName("MoveOfReferences")]
    internal static extern void MoveOfReferences(ref byte destination, ref byte source, nuint size);

    [VersionName("MoveOfReferencesInChunks")]
    internal static extern void MoveOfReferencesInChunks(ref byte destination, ref byte source, nuint size);
}
