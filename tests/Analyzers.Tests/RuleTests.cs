using System.Threading.Tasks;
using Microsoft.CodeAnalysis;
using Xunit;

namespace Freehold.Analyzers.Tests;

/// <summary>The rules that need no flow of control, and the origins of what is deleted.</summary>
public sealed class RuleTests
{
    [Theory]
    // FH1005: cannot be deleted.
    [InlineData("void M() { {|FH1005:Heap.Delete(\"text\")|}; }")]
    [InlineData("void M() { string s = \"text\"; {|FH1005:Heap.Delete(s)|}; }")]
    [InlineData("void M() { string s = Node.Coin ? \"a\" : \"b\"; {|FH1005:Heap.Delete(s)|}; }")]
    [InlineData("void M() { {|FH1005:Heap.Delete(typeof(int))|}; }")]
    [InlineData("void M(object o) { {|FH1005:Heap.Delete(o.GetType())|}; }")]
    [InlineData("void M() { {|FH1005:Heap.Delete(Thread.CurrentThread)|}; }")]
    [InlineData("void M() { {|FH1005:Heap.Delete(string.Empty)|}; }")]
    [InlineData("void M() { {|FH1005:Heap.Delete(5)|}; }")]
    [InlineData("void M() { string s = Node.Coin ? \"a\" : new string('x', 3); Heap.Delete(s); }")]
    [InlineData("void M(string s) { Heap.Delete(s + s); Heap.Delete(s); }")]
    [InlineData("void M(List<Node> l) { Heap.DeleteAll(new ArraySegment<Node>(l.ToArray())); }")]
    [InlineData("void M(ArraySegment<Node> s) { Heap.DeleteAll(s); {|FH1005:Heap.Delete(s)|}; }")]
    // FH1006: static.
    [InlineData("static readonly Node s_a = new(); void M() { {|FH1006:Heap.Delete(s_a)|}; }")]
    [InlineData("static readonly Node s_a = new(); void M() { Node a = s_a; {|FH1006:Heap.Delete(a)|}; }")]
    [InlineData("static Node s_a = new(); void M() { {|FH1006:Heap.Delete(s_a)|}; }")]
    [InlineData("static Node s_a = new(); void M() { Heap.Delete(s_a); s_a = new Node(); }")]
    [InlineData("static Node s_a = new(); void M() { Node old = s_a; s_a = new Node(); Heap.Delete(old); }")]
    [InlineData("void M() { {|FH1006:Heap.Delete(Encoding.UTF8)|}; }")]
    [InlineData("void M() { Heap.Delete(Environment.CommandLine); }")]
    [InlineData("static Node New => new Node(); void M() { Heap.Delete(New); }")]
    // FH1007: pooled.
    [InlineData("void M() { byte[] a = ArrayPool<byte>.Shared.Rent(9); {|FH1007:Heap.Delete(a)|}; }")]
    [InlineData("void M() { byte[] a = null; try { a = ArrayPool<byte>.Shared.Rent(9); } finally { {|FH1007:Heap.Delete(a)|}; } }")]
    [InlineData("void M() { byte[] a = ArrayPool<byte>.Shared.Rent(9); ArrayPool<byte>.Shared.Return(a); a = new byte[a.Length]; Heap.Delete(a); }")]
    // FH1008: enumerated.
    [InlineData("void M(List<Node> l) { foreach (Node a in l) { {|FH1008:{|FH1004:Heap.Delete(l)|}|}; } }")]
    [InlineData("void M(Dictionary<int, Node> l) { foreach (Node a in l.Values) { if (a.Value > 1) { {|FH1008:{|FH1004:Heap.Delete(l)|}|}; } } }")]
    [InlineData("void M(List<Node> l) { foreach (Node a in l) { Heap.Delete(l); break; } }")]
    [InlineData("void M(List<Node> l) { foreach (Node a in l) { if (a.Value > 1) { Heap.Delete(l); return; } } }")]
    [InlineData("void M(List<Node> l) { foreach (Node a in l) { Heap.Delete(a); } }")]
    [InlineData("void M(List<Node> l, Node s) { foreach (Node a in l) { s.Changed += () => Heap.Delete(l); } }")]
    // FH1009: captured.
    [InlineData("void M(Node s) { var a = new Node(); s.Changed += () => a.Use(); {|FH1009:Heap.Delete(a)|}; }")]
    [InlineData("void M() { var a = new Node(); Task.Run(() => a.Use()); {|FH1009:Heap.Delete(a)|}; }")]
    [InlineData("async Task M() { var a = new Node(); await Task.Run(() => a.Use()); Heap.Delete(a); }")]
    [InlineData("void M(List<Node> l) { var a = new Node(); l.ForEach(b => b.Next = a); l.Clear(); Heap.Delete(a); }")]
    [InlineData("void M() { var a = new Node(); Task.Run(() => Heap.Delete(a)); }")]
    // FH1010: inside its lock.
    [InlineData("void M(Node a) { lock (a) { {|FH1010:Heap.Delete(a)|}; } }")]
    [InlineData("void M() { lock (this) { {|FH1010:Heap.Delete(this)|}; } }")]
    [InlineData("void M(Node a, Node b) { lock (a) { Heap.Delete(b); } Heap.Delete(a); }")]
    [InlineData("void M(Node a, Node s) { lock (a) { s.Changed += () => Heap.Delete(a); } }")]
    [InlineData("void M(Node a) { lock (a) { Action f = Later; void Later() => Heap.Delete(a); } }")]
    [InlineData("void M(Node a, Node b) { lock (a) { Action f = () => { lock (b) { {|FH1010:Heap.Delete(b)|}; } }; {|FH1010:Heap.Delete(a)|}; } }")]
    // FH1011: dropped.
    [InlineData("string M() { var {|FH1011:b|} = new StringBuilder(); b.Append('x').Append('y'); return b.ToString(); }")]
    [InlineData("int M(int n) { int[] {|FH1011:a|} = new int[n]; for (int i = 0; i < n; i++) a[i] = i; return a[n / 2] + a.Length; }")]
    [InlineData("int M() { var {|FH1011:l|} = new List<int> { 1, 2 }; l.Add(3); foreach (int i in l) { } return l[0]; }")]
    [InlineData("List<int> M() { var l = new List<int>(); l.Add(3); return l; }")]
    [InlineData("void M() { var l = new List<int>(); l.Add(3); Heap.Delete(l); }")]
    [InlineData("void M() { var l = new List<int>(); Node.Take(l); }")]
    [InlineData("Action M() { var l = new List<int>(); return () => l.Add(3); }")]
    [InlineData("void M() { using (Heap.Scope()) { var l = new List<int>(); l.Add(3); } }")]
    [InlineData("System.Collections.IEnumerator M(int n) { var a = new int[n]; return a.GetEnumerator(); }")]
    [InlineData("System.Collections.IEnumerator M() { var a = new System.Collections.BitArray(99); return a.GetEnumerator(); }")]
    [InlineData("IReadOnlyList<int> M() { var l = new List<int>(); return l.AsReadOnly(); }")]
    [InlineData("ICollection<int> M() { var l = new Dictionary<int, int>(); return l.Keys; }")]
    [InlineData("StringBuilder M() { var b = new StringBuilder(); return b.Append('x'); }")]
    [InlineData("int M(int n) { var {|FH1011:a|} = new int[n]; return a[0]; }")]
    [InlineData("void M(int n) { var a = new int[n]; ref int b = ref a[0]; }")]
    [InlineData("unsafe void M(int n) { var a = new int[n]; fixed (int* b = &a[0]) { } }")]
    [InlineData("ref int M(int n) { var a = new int[n]; return ref a[0]; }")]
    [InlineData("Span<int> M(int n) { var a = new int[n]; return a; }")]
    [InlineData("void M(int n) { var a = new int[n]; a = new int[n]; a[0] = 1; }")]
    [InlineData("int M() { var a = new int[8]; a[0] = 1; return a[1]; }")]
    [InlineData("void M() { using var s = new MemoryStream(); s.WriteByte(1); }")]
    // FH1013, FH1014: an owned object that is handed out.
    [InlineData("[Owned] Node _a = new(); public Node M() => {|FH1014:_a|};")]
    [InlineData("[Owned] Node _a = new(); public Node A { get { return {|FH1014:_a|}; } }")]
    [InlineData("[Owned] Node _a = new(); private Node M() => _a;")]
    [InlineData("[Owned] Node _a = new(); public int M() => _a.Value;")]
    [InlineData("[Owned] Node _a = new(); void M(Node b) { b.Next = {|FH1013:_a|}; }")]
    [InlineData("[Owned] Node _a = new(); static object s_a; void M() { s_a = {|FH1013:_a|}; s_a = null; }")]
    [InlineData("[Owned] Node _a = new(); void M(Node b) { b.Next = _a; _a = null; }")]
    [InlineData("[Owned] Node _a = new(); Node _b; void M() { _b = _a; var c = _a; }")]
    // FH1016: numbers.
    [InlineData("nint M(object a) => {|FH1016:Unsafe.As<object, nint>(ref a)|};")]
    [InlineData("unsafe nint M(object a) => *{|FH1016:(nint*)&a|};")]
    [InlineData("unsafe void* M(ref Node a) => {|FH1016:Unsafe.AsPointer(ref a)|};")]
    [InlineData("bool M(object a, object b) => Unsafe.As<object, nint>(ref a) == Unsafe.As<object, nint>(ref b);")]
    [InlineData("Node M(object a) => Unsafe.As<Node>(a);")]
    [InlineData("ref byte M(ref int a) => ref Unsafe.As<int, byte>(ref a);")]
    [InlineData("nint M(object a) => System.Runtime.InteropServices.GCHandle.ToIntPtr(System.Runtime.InteropServices.GCHandle.Alloc(a));")]
    [InlineData("ref Node M(ref object a) => ref Unsafe.As<object, Node>(ref a);")]
    public Task Body(string members) => Source.Body(members);

    [Theory]
    // FH1012: may be owned.
    [InlineData("readonly List<int> {|FH1012:_a|} = new(); public void M() => _a.Add(1);")]
    [InlineData("byte[] {|FH1012:_a|}; public Program(int n) { _a = new byte[n]; } public byte M() => _a[0];")]
    [InlineData("Dictionary<int, Node> {|FH1012:_a|}; public void M() { _a ??= new(); _a[1] = new Node(); }")]
    [InlineData("readonly List<int> _a = new(); public IReadOnlyList<int> M() => _a;")]
    [InlineData("readonly List<int> _a; public Program(List<int> a) => _a = a; public void M() => _a.Add(1);")]
    [InlineData("readonly List<int> _a = new(); public void M() => Node.Take(_a);")]
    [InlineData("readonly List<int> _a = new(); public void M() { _a.Add(1); Heap.Delete(_a); }")]
    [InlineData("[Owned] readonly List<int> _a = new(); public void M() => _a.Add(1);")]
    [InlineData("readonly List<int> _a = new(); class Inner { public List<int> M(Program p) => p._a; }")]
    [InlineData("static readonly List<int> s_a = new(); public void M() => s_a.Add(1);")]
    [InlineData("readonly Node _a = new(); public void M() => _a.Use();")]
    [InlineData("readonly int[] _a = new int[99]; public System.Collections.IEnumerator M() => _a.GetEnumerator();")]
    [InlineData("record R { readonly List<int> _a = new(); public void M() => _a.Add(1); }")]
    [InlineData("class C { readonly List<int> _a = new(); public object M() { _a.Add(1); return MemberwiseClone(); } }")]
    [InlineData("class C : ICloneable { readonly List<int> _a = new(); public void M() => _a.Add(1); public object Clone() => null; }")]
    // FH1015: cannot own.
    [InlineData("[Owned] static Node {|FH1015:s_a|};")]
    [InlineData("[Owned] int {|FH1015:_a|};")]
    [InlineData("struct S { [Owned] Node {|FH1015:_a|}; }")]
    [InlineData("[Owned] Node _a;")]
    public Task Type(string members) => Source.Members<OwnedFieldAnalyzer>(members, OutputKind.ConsoleApplication);

    /// <summary>What a generated part of the class does with a field counts, and is not reported.</summary>
    [Theory]
    [InlineData("readonly List<int> _a = new(); public void M() => _a.Add(1);", "public List<int> A => _a;")]
    [InlineData("readonly List<int> {|FH1012:_a|} = new(); public void M() => _a.Add(1);", "public int A => _a.Count; readonly List<int> _b = new(); public int B => _b.Count;")]
    public Task Generated(string members, string generated) => Source.Members<OwnedFieldAnalyzer>(members, OutputKind.ConsoleApplication, generated);

    [Theory]
    [InlineData("public void M(Node a) { {|FH1017:Heap.Delete(a)|}; }")]
    [InlineData("public long M() => {|FH1017:Heap.Compact()|};")]
    [InlineData("public void M(Node a) { if (Heap.IsManual) { Heap.Delete(a); } }")]
    [InlineData("public bool M() => Heap.IsManual;")]
    public Task Library(string members) => Source.Members<HeapAnalyzer>(members, OutputKind.DynamicallyLinkedLibrary);
}
