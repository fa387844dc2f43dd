using System.Runtime.CompilerServices;

namespace Freehold.Contract;

internal interface ISubject
{
    int Number { get; }

    int Scale(int factor);
}

internal interface IUnrelated;

internal struct Mixed(long first, string? text, object? link)
{
    public long First = first;
    public string? Text = text;
    public object? Link = link;
    public long Last = ~first;

    public readonly bool IsWhole => Last == ~First;
}

/// <summary>The object that the cases use after its deletion: a field of every kind.</summary>
internal class Subject(int value) : ISubject
{
    public int Value = value;
    public long Wide = value * 3L;
    public double Real = value / 2.0;
    public object? Link;
    public string? Text;
    public Mixed Mixed = new(value, null, null);
    public volatile int Version;

    public int Number => Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public virtual int Twice() => Value * 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Direct() => Value + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public virtual string Generic<T>() => typeof(T).Name + Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Scale(int factor) => Value * factor;
}

internal sealed class DerivedSubject(int value) : Subject(value)
{
    public override int Twice() => Value * 20;

    public override string Generic<T>() => "derived" + base.Generic<T>();
}

/// <summary>Other implementations, so that interface calls are not resolved to one type at compile time.</summary>
internal sealed class OtherSubject : ISubject
{
    public int Number => -1;

    public int Scale(int factor) => -factor;
}
