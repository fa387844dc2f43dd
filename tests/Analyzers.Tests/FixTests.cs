using System.Threading.Tasks;
using Freehold.Analyzers.CodeFixes;
using Microsoft.CodeAnalysis;
using Xunit;

namespace Freehold.Analyzers.Tests;

/// <summary>What the fixes make of a program; it compiles, and the finding is gone.</summary>
public sealed class FixTests
{
    [Fact]
    public Task TheSecondDeletionIsRemoved() => Source.Fix<HeapAnalyzer, RemoveDeletionFix>(
        "void M(Node a)\n{\n    Heap.Delete(a);\n    {|FH1003:Heap.Delete(a)|};\n    Console.WriteLine();\n    {|FH1003:Heap.Delete(a)|};\n}",
        "void M(Node a)\n{\n    Heap.Delete(a);\n    Console.WriteLine();\n}");

    /// <summary>No fix: the argument does something besides.</summary>
    [Fact]
    public Task ADeletionWithAnEffectStays() => Source.Fix<HeapAnalyzer, RemoveDeletionFix>(
        "int _n;\n\nvoid M()\n{\n    {|FH1005:Heap.Delete(_n++)|};\n}",
        "int _n;\n\nvoid M()\n{\n    {|FH1005:Heap.Delete(_n++)|};\n}");

    [Fact]
    public Task ARentedArrayIsReturned() => Source.Fix<HeapAnalyzer, ReturnToPoolFix>(
        "void M()\n{\n    byte[] a = ArrayPool<byte>.Shared.Rent(9);\n    {|FH1007:Heap.Delete(a)|};\n}",
        "void M()\n{\n    byte[] a = ArrayPool<byte>.Shared.Rent(9);\n    ArrayPool<byte>.Shared.Return(a);\n}");

    [Fact]
    public Task ADeletionMovesBehindTheLock() => Source.Fix<HeapAnalyzer, DeleteAfterLockFix>(
        "void M(Node a)\n{\n    lock (a)\n    {\n        a.Use();\n        {|FH1010:Heap.Delete(a)|};\n    }\n}",
        "void M(Node a)\n{\n    lock (a)\n    {\n        a.Use();\n    }\n    Heap.Delete(a);\n}");

    [Fact]
    public Task ALibraryAsks() => Source.Fix<HeapAnalyzer, AskWhichHeapFix>(
        "public void M()\n{\n    {|FH1017:Heap.Compact()|};\n}",
        "public void M()\n{\n    if (Heap.IsManual)\n    {\n        Heap.Compact();\n    }\n}",
        kind: OutputKind.DynamicallyLinkedLibrary);

    [Fact]
    public Task AFieldIsMarked() => Source.Fix<OwnedFieldAnalyzer, MarkOwnedFix>(
        "readonly List<int> {|FH1012:_a|} = new();\n\npublic void M() => _a.Add(1);",
        "[Owned]\nreadonly List<int> _a = new();\n\npublic void M() => _a.Add(1);");

    [Fact]
    public Task ALocalIsDeletedAfterItsLastUse() => Source.Fix<HeapAnalyzer, DropFix>(
        "void M()\n{\n    var {|FH1011:l|} = new List<int>();\n    l.Add(1);\n    Console.WriteLine();\n}",
        "void M()\n{\n    var l = new List<int>();\n    l.Add(1);\n    Heap.Delete(l);\n    Console.WriteLine();\n}");

    [Fact]
    public Task AResultIsMadeBeforeTheDeletion() => Source.Fix<HeapAnalyzer, DropFix>(
        "string M()\n{\n    var {|FH1011:b|} = new StringBuilder();\n    b.Append('x');\n    return b.ToString();\n}",
        "string M()\n{\n    var b = new StringBuilder();\n    b.Append('x');\n    var result = b.ToString();\n    Heap.Delete(b);\n    return result;\n}");

    /// <summary>'var' would not compile, or be of another type.</summary>
    [Theory]
    [InlineData("int?", "l.Count > 1 ? l[0] : null")]
    [InlineData("long", "l.Count")]
    [InlineData("Version", "new(l.Count, l[0])")]
    [InlineData("Version", "(new(l.Count, l[0]))")]
    [InlineData("int[]", "[l[0], l[1]]")]
    [InlineData("Func<int>", "l.Count switch { 0 => null, int n => () => n }")]
    public Task AResultHasTheTypeThatItIsReturnedWith(string type, string value) => Source.Fix<HeapAnalyzer, DropFix>(
        $"{type} M()\n{{\n    var {{|FH1011:l|}} = new List<int>();\n    l.Add(1);\n    return {value};\n}}",
        $"{type} M()\n{{\n    var l = new List<int>();\n    l.Add(1);\n    {type} result = {value};\n    Heap.Delete(l);\n    return result;\n}}");

    /// <summary>Nothing behind a 'throw' runs.</summary>
    [Fact]
    public Task WhatIsThrownAwayGetsAScope() => Source.Fix<HeapAnalyzer, DropFix>(
        "void M()\n{\n    var {|FH1011:b|} = new StringBuilder();\n    b.Append(1);\n    throw new Exception(b.ToString());\n}",
        "void M()\n{\n    using var scope = Heap.Scope();\n    var b = new StringBuilder();\n    b.Append(1);\n    throw new Exception(b.ToString());\n}");

    /// <summary>Where a jump would pass the deletion by, only the scope is offered.</summary>
    [Theory]
    [InlineData("    l.Add(1);\n", 1)]
    [InlineData("    if (Node.Coin) return;\n    l.Add(1);\n", 0)]
    public Task AScopeIsBegun(string use, int index) => Source.Fix<HeapAnalyzer, DropFix>(
        "void M()\n{\n    var {|FH1011:l|} = new List<int>();\n" + use + "}",
        "void M()\n{\n    using var scope = Heap.Scope();\n    var l = new List<int>();\n" + use + "}",
        index);
}
