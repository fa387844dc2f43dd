using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>What types that own something call to name their parts. The rewriter gives these walks the fields, as refs into the first object: where a field lies is the same in all others.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>Assembly Freehold notes a part of the object that is being deleted.</summary>
    [RuntimeImport("*", "FreeholdAddPart")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void AddPart(object part);

    /// <summary>All that is in a collection.</summary>
    [RuntimeImport("*", "FreeholdAddElements")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void AddElements(object collection);

    /// <summary>Of what is in a collection, the elements of which a function says that they belong to the owner.</summary>
    [RuntimeImport("*", "FreeholdAddElementsOf")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void AddElementsOf(object collection, object owner, nint belongs);

    /// <summary>A node and all that hangs on it by a field, in a list or ring. The owner itself has no part there: what follows it are others of its own owner's.</summary>
    public static void AddChain(object first, object owner, ref byte link)
    {
        if (SameObject(first, owner))
        {
            return;
        }

        nint next = PlaceIn(first, ref link);
        object node = first;
        do
        {
            object following = At(node, next);
            AddPart(node);
            node = following;
        }
        while (node != null && !SameObject(node, first));
    }

    /// <summary>
    /// The nodes of a ring, from the first one to the last one, or to the one before that whose parent is neither the owner nor the node before it. A handler of an event may
    /// have put a node into two rings: what hangs behind it is the other one's.
    /// </summary>
    public static void AddRing(object last, object owner, ref byte link, ref byte parent)
    {
        if (SameObject(last, owner))
        {
            return;
        }

        nint next = PlaceIn(last, ref link), above = PlaceIn(last, ref parent);
        object before = last;
        object node = At(last, next);
        while (node != null)
        {
            object belongs = At(node, above);
            if (!SameObject(belongs, owner) && !SameObject(belongs, before))
            {
                return;
            }

            object following = At(node, next);
            AddPart(node);
            if (SameObject(node, last))
            {
                return;
            }

            before = node;
            node = following;
        }
    }

    // How far from its start a field of an object is.
    private static nint PlaceIn(object holder, ref byte field) => ReferenceDifference(ref field, ref Il.Start(ref Il.Layout(holder).m_pEEType));

    // The reference in the field at that place.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static object At(object holder, nint place) => Il.Reference(ref Il.Add(ref Il.Start(ref Il.Layout(holder).m_pEEType), place));
}
