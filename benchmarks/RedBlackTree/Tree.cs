using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks;

/// <summary>A red-black tree of distinct keys, with parent pointers and null for the leaves.</summary>
internal sealed class Tree
{
    private sealed class Node(ulong key, Node? parent)
    {
        public readonly ulong Key = key;
        public ulong Value = ~key;
        public Node? Left, Right, Parent = parent;
        public bool IsRed = true;
    }

    private Node? _root;

    public int Count { get; private set; }

    /// <summary>The value of the least key that is not less than <paramref name="key"/>; 0 when there is none.</summary>
    public ulong Ceiling(ulong key) => FindCeiling(key)?.Value ?? 0;

    /// <summary>False: the key is there.</summary>
    public bool Insert(ulong key)
    {
        Node? parent = null;
        for (var node = _root; node is not null; node = key < node.Key ? node.Left : node.Right)
        {
            if (node.Key == key)
            {
                return false;
            }

            parent = node;
        }

        var added = new Node(key, parent);
        if (parent is null)
        {
            _root = added;
        }
        else if (key < parent.Key)
        {
            parent.Left = added;
        }
        else
        {
            parent.Right = added;
        }

        BalanceAfterInsertion(added);
        Count++;
        return true;
    }

    /// <summary>Removes the least key that is not less than <paramref name="key"/> and returns it; null when there is none.</summary>
    public ulong? RemoveCeiling(ulong key)
    {
        if (FindCeiling(key) is not { } node)
        {
            return null;
        }

        var removed = node.Key;
        Remove(node);
        Count--;
        if (Heap.IsManual)
        {
            Heap.Delete(node);
        }

        return removed;
    }

    /// <summary>The hash of all keys and values in order; an exception when it is not a red-black tree.</summary>
    public ulong Check()
    {
        var hash = 0ul;
        ulong? last = null;
        Check(_root, null, ref hash, ref last);
        return hash;
    }

    private static int Check(Node? node, Node? parent, ref ulong hash, ref ulong? last)
    {
        if (node is null)
        {
            return 1;
        }

        var left = Check(node.Left, node, ref hash, ref last);
        var good = last is null || last < node.Key;
        last = node.Key;
        hash = (hash * 31) + node.Key + node.Value;
        var right = Check(node.Right, node, ref hash, ref last);
        good &= left == right && node.Parent == parent && node.Value == ~node.Key && !(node.IsRed && (parent is null || parent.IsRed));
        return good ? left + (node.IsRed ? 0 : 1) : throw new InvalidOperationException($"The tree is damaged at {node.Key}.");
    }

    private Node? FindCeiling(ulong key)
    {
        Node? best = null;
        var node = _root;
        while (node is not null)
        {
            if (key <= node.Key)
            {
                best = node;
                node = node.Left;
            }
            else
            {
                node = node.Right;
            }
        }

        return best;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsBlack(Node? node) => node is null || !node.IsRed;

    private void Rotate(Node node, bool left)
    {
        var up = (left ? node.Right : node.Left)!;
        var middle = left ? up.Left : up.Right;
        if (left)
        {
            node.Right = middle;
            up.Left = node;
        }
        else
        {
            node.Left = middle;
            up.Right = node;
        }

        if (middle is not null)
        {
            middle.Parent = node;
        }

        Replace(node, up);
        node.Parent = up;
    }

    /// <summary>Puts another node, or none, below a node's parent in its place.</summary>
    private void Replace(Node node, Node? other)
    {
        var parent = node.Parent;
        if (parent is null)
        {
            _root = other;
        }
        else if (parent.Left == node)
        {
            parent.Left = other;
        }
        else
        {
            parent.Right = other;
        }

        if (other is not null)
        {
            other.Parent = parent;
        }
    }

    private void BalanceAfterInsertion(Node node)
    {
        while (node.Parent is { IsRed: true } parent)
        {
            var grandparent = parent.Parent!;
            var isLeft = parent == grandparent.Left;
            var uncle = isLeft ? grandparent.Right : grandparent.Left;
            if (uncle is { IsRed: true })
            {
                parent.IsRed = uncle.IsRed = false;
                grandparent.IsRed = true;
                node = grandparent;
                continue;
            }

            if (node == (isLeft ? parent.Right : parent.Left))
            {
                Rotate(parent, isLeft);
                parent = node;
            }

            parent.IsRed = false;
            grandparent.IsRed = true;
            Rotate(grandparent, !isLeft);
            break;
        }

        _root!.IsRed = false;
    }

    private void Remove(Node node)
    {
        Node? child, parent;
        bool lostBlack;
        if (node.Left is null || node.Right is null)
        {
            child = node.Left ?? node.Right;
            parent = node.Parent;
            lostBlack = !node.IsRed;
            Replace(node, child);
        }
        else
        {
            // Its successor takes its place and its colour.
            var next = node.Right;
            while (next.Left is not null)
            {
                next = next.Left;
            }

            child = next.Right;
            lostBlack = !next.IsRed;
            if (next.Parent == node)
            {
                parent = next;
            }
            else
            {
                parent = next.Parent;
                Replace(next, child);
                next.Right = node.Right;
                next.Right.Parent = next;
            }

            Replace(node, next);
            next.Left = node.Left;
            next.Left.Parent = next;
            next.IsRed = node.IsRed;
        }

        if (lostBlack)
        {
            BalanceAfterRemoval(child, parent);
        }
    }

    /// <summary>The paths through <paramref name="node"/>, which may be none, have one black node too few.</summary>
    private void BalanceAfterRemoval(Node? node, Node? parent)
    {
        while (parent is not null && IsBlack(node))
        {
            var isLeft = node == parent.Left;
            var sibling = (isLeft ? parent.Right : parent.Left)!;
            if (sibling.IsRed)
            {
                sibling.IsRed = false;
                parent.IsRed = true;
                Rotate(parent, isLeft);
                sibling = (isLeft ? parent.Right : parent.Left)!;
            }

            var far = isLeft ? sibling.Right : sibling.Left;
            var near = isLeft ? sibling.Left : sibling.Right;
            if (IsBlack(far) && IsBlack(near))
            {
                sibling.IsRed = true;
                node = parent;
                parent = node.Parent;
                continue;
            }

            if (IsBlack(far))
            {
                near!.IsRed = false;
                sibling.IsRed = true;
                Rotate(sibling, !isLeft);
                far = sibling;
                sibling = near;
            }

            sibling.IsRed = parent.IsRed;
            parent.IsRed = false;
            far!.IsRed = false;
            Rotate(parent, isLeft);
            return;
        }

        if (node is not null)
        {
            node.IsRed = false;
        }
    }
}
