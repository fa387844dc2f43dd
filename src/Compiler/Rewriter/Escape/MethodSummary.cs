using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// What a method does with the objects that it is given. Of each parameter (<c>this</c> is the first) two things are told apart: what it refers to, and all that hangs on that.
/// Where each of them may flow to is a set of bits. A summary only grows while a cycle of calls is being solved.
/// </summary>
public sealed class MethodSummary
{
    /// <summary>It may be used when the call has returned, by somebody who is not named below.</summary>
    public const ulong Escapes = 1;

    /// <summary>The result may be it.</summary>
    public const ulong Returned = 2;

    /// <summary>The result may lead to it.</summary>
    public const ulong InReturned = 4;

    /// <summary>What others may know in the result may lead to it: something new that hangs on an argument, too, or on something new.</summary>
    public const ulong InOther = 8;

    private const int FirstInto = 4;

    /// <summary>A summary of a method that does nothing with its arguments.</summary>
    public MethodSummary(int parameters)
    {
        Objects = new ulong[parameters];
        Contents = new ulong[parameters];
        Reasons = new string?[parameters];
        Slots = [.. Enumerable.Range(0, parameters).Select(_ => new List<MethodDefinition>())];
        ContentsSlots = [.. Enumerable.Range(0, parameters).Select(_ => new List<MethodDefinition>())];
    }

    /// <summary>Where what a parameter refers to may flow to.</summary>
    public ulong[] Objects { get; }

    /// <summary>Where what hangs on it may flow to.</summary>
    public ulong[] Contents { get; }

    /// <summary>For the report: what lets a parameter, or what hangs on it, escape.</summary>
    public string?[] Reasons { get; }

    /// <summary>Virtual methods that are called on a parameter: the class of the argument decides what becomes of it there. What these return counts as the argument.</summary>
    public List<MethodDefinition>[] Slots { get; }

    /// <summary>The same of what hangs on a parameter.</summary>
    public List<MethodDefinition>[] ContentsSlots { get; }

    /// <summary>Parameters below which the method may store what others know.</summary>
    public ulong StoresOther { get; set; }

    /// <summary>Parameters below which it may store what it made.</summary>
    public ulong StoresFresh { get; set; }

    /// <summary>Parameters in whose fields the method may store what hangs on them deeper down.</summary>
    public ulong Lifts { get; set; }

    /// <summary>Parameters of which it may store one thing that hangs there in another one.</summary>
    public ulong Relinks { get; set; }

    /// <summary>Parameters in whose fields it may store something new that leads to what hung there before.</summary>
    public ulong Wraps { get; set; }

    /// <summary>Parameters below which, and not in whose fields only, it may do that.</summary>
    public ulong WrapsBelow { get; set; }

    /// <summary>The result may be something that others know: neither an argument, nor new, nor a constant that no deletion harms.</summary>
    public bool ReturnsOther { get; set; }

    /// <summary>The result may be an object that the method made and nobody else knows.</summary>
    public bool ReturnsFresh { get; set; }

    /// <summary>The types that such an object can be of, exactly.</summary>
    public List<TypeReference> FreshTypes { get; } = [];

    /// <summary>It can be of another one too.</summary>
    public bool FreshIsOfUnknownType { get; set; }

    /// <summary>Others may know what hangs on such an object.</summary>
    public bool FreshPartsEscape { get; set; }

    /// <summary>Such an object may lead to what others know.</summary>
    public bool FreshHoldsOther { get; set; }

    /// <summary>Whether nothing is known: all escapes.</summary>
    public bool IsUnknown { get; private init; }

    /// <summary>The bit of a parameter in <see cref="StoresOther"/> and <see cref="StoresFresh"/>.</summary>
    public static ulong Bit(int parameter) => 1UL << Math.Min(parameter, 63);

    /// <summary>The bit for what may be stored below a parameter.</summary>
    public static ulong Into(int parameter) => FirstInto + parameter < 64 ? 1UL << (FirstInto + parameter) : Escapes;

    /// <summary>Of a method of which nothing is known.</summary>
    public static MethodSummary Unknown(int parameters, string? reason = null)
    {
        MethodSummary summary = new(parameters) { ReturnsOther = true, StoresOther = ulong.MaxValue, IsUnknown = true };
        Array.Fill(summary.Objects, Escapes);
        Array.Fill(summary.Contents, Escapes);
        Array.Fill(summary.Reasons, reason);
        return summary;
    }

    /// <summary>Adds what another analysis of the method has found.</summary>
    /// <returns>Whether that is news.</returns>
    public bool Add(MethodSummary other)
    {
        bool changed = (other.ReturnsOther && !ReturnsOther) || (other.ReturnsFresh && !ReturnsFresh) || (other.FreshPartsEscape && !FreshPartsEscape)
            || (other.FreshIsOfUnknownType && !FreshIsOfUnknownType) || (other.FreshHoldsOther && !FreshHoldsOther)
            || (other.Lifts & ~Lifts) != 0 || (other.Relinks & ~Relinks) != 0 || (other.Wraps & ~Wraps) != 0 || (other.WrapsBelow & ~WrapsBelow) != 0
            || (other.StoresOther & ~StoresOther) != 0 || (other.StoresFresh & ~StoresFresh) != 0;
        ReturnsOther |= other.ReturnsOther;
        ReturnsFresh |= other.ReturnsFresh;
        FreshPartsEscape |= other.FreshPartsEscape;
        FreshIsOfUnknownType |= other.FreshIsOfUnknownType;
        FreshHoldsOther |= other.FreshHoldsOther;
        Lifts |= other.Lifts;
        Relinks |= other.Relinks;
        Wraps |= other.Wraps;
        WrapsBelow |= other.WrapsBelow;
        StoresOther |= other.StoresOther;
        StoresFresh |= other.StoresFresh;
        changed |= AddNew(FreshTypes, other.FreshTypes);
        for (int i = 0; i < Objects.Length; i++)
        {
            changed |= (other.Objects[i] & ~Objects[i]) != 0 || (other.Contents[i] & ~Contents[i]) != 0;
            Objects[i] |= other.Objects[i];
            Contents[i] |= other.Contents[i];
            Reasons[i] ??= other.Reasons[i];
            changed |= AddNew(Slots[i], other.Slots[i]) | AddNew(ContentsSlots[i], other.ContentsSlots[i]);
        }

        return changed;
    }

    /// <summary>Adds what is not there yet.</summary>
    /// <returns>Whether that is news.</returns>
    public static bool AddNew<T>(List<T> list, IEnumerable<T> more)
    {
        int before = list.Count;
        list.AddRange(more.Where(one => !list.Contains(one)).ToArray());
        return list.Count != before;
    }

    /// <summary>The bits in words, for reports and tests.</summary>
    public static string Describe(ulong flows)
    {
        List<string> words = [];
        if ((flows & Escapes) != 0)
        {
            words.Add("escapes");
        }

        if ((flows & Returned) != 0)
        {
            words.Add("returned");
        }

        if ((flows & InReturned) != 0)
        {
            words.Add("in result");
        }

        if ((flows & InOther) != 0)
        {
            words.Add("in another result");
        }

        for (int i = 0; FirstInto + i < 64; i++)
        {
            if ((flows & Into(i)) != 0)
            {
                words.Add($"into {i}");
            }
        }

        return string.Join(", ", words);
    }
}
