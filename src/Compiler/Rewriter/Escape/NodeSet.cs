using System;
using System.Collections.Generic;
using System.Numerics;

namespace Freehold.Rewriter.Escape;

/// <summary>A set of small numbers: the nodes of a method's points-to graph.</summary>
public sealed class NodeSet
{
    private ulong[] _words = new ulong[2];

    /// <summary>Nothing. Never added to.</summary>
    public static NodeSet Empty { get; } = new();

    /// <summary>A set of these.</summary>
    public static NodeSet Of(params IEnumerable<int> nodes)
    {
        NodeSet set = new();
        foreach (int node in nodes)
        {
            set.Add(node);
        }

        return set;
    }

    /// <summary>Whether there is nothing in it.</summary>
    public bool IsEmpty
    {
        get
        {
            foreach (ulong word in _words)
            {
                if (word != 0)
                {
                    return false;
                }
            }

            return true;
        }
    }

    /// <summary>The members, in order.</summary>
    public IEnumerable<int> Members
    {
        get
        {
            for (int i = 0; i < _words.Length; i++)
            {
                for (ulong rest = _words[i]; rest != 0; rest &= rest - 1)
                {
                    yield return (i * 64) + BitOperations.TrailingZeroCount(rest);
                }
            }
        }
    }

    /// <summary>Whether the node is in it.</summary>
    public bool Contains(int node) => node >> 6 < _words.Length && (_words[node >> 6] >> (node & 63) & 1) != 0;

    /// <summary>Whether all of it is in another set.</summary>
    public bool IsSubsetOf(NodeSet other)
    {
        for (int i = 0; i < _words.Length; i++)
        {
            if ((_words[i] & ~(i < other._words.Length ? other._words[i] : 0)) != 0)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Whether something is in both.</summary>
    public bool Overlaps(NodeSet other)
    {
        for (int i = Math.Min(_words.Length, other._words.Length) - 1; i >= 0; i--)
        {
            if ((_words[i] & other._words[i]) != 0)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>A new set with one node for all that are in another set.</summary>
    public NodeSet Without(NodeSet other, int instead)
    {
        NodeSet rest = new();
        rest.UnionWith(this);
        for (int i = Math.Min(rest._words.Length, other._words.Length) - 1; i >= 0; i--)
        {
            rest._words[i] &= ~other._words[i];
        }

        rest.Add(instead);
        return rest;
    }

    /// <summary>Adds a node.</summary>
    /// <returns>Whether that is news.</returns>
    public bool Add(int node)
    {
        Reserve((node >> 6) + 1);
        ulong old = _words[node >> 6];
        _words[node >> 6] = old | (1UL << (node & 63));
        return old != _words[node >> 6];
    }

    /// <summary>Adds all of another set.</summary>
    /// <returns>Whether that is news.</returns>
    public bool UnionWith(NodeSet other)
    {
        Reserve(other._words.Length);
        bool changed = false;
        for (int i = 0; i < other._words.Length; i++)
        {
            ulong union = _words[i] | other._words[i];
            changed |= union != _words[i];
            _words[i] = union;
        }

        return changed;
    }

    /// <summary>A new set of both.</summary>
    public NodeSet Plus(NodeSet other)
    {
        if (IsEmpty || other == this)
        {
            return other;
        }

        if (other.IsEmpty)
        {
            return this;
        }

        NodeSet union = new();
        union.UnionWith(this);
        union.UnionWith(other);
        return union;
    }

    private void Reserve(int words)
    {
        if (_words.Length < words)
        {
            Array.Resize(ref _words, words);
        }
    }
}
