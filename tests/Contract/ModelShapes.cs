using System.Text;

namespace Freehold.Contract;

internal enum ShapeKind
{
    Node,
    Bytes,
    References,
    Text,
    Box,
    List,
    Closure,
    Structures,
    Builder,
    Derived,
    Pair,
    Large,
    Count,
}

internal class ModelNode(int id, int version)
{
    public int Id = id;
    public int Version = version;
    public object? Left;
    public int Check = id ^ (version * 31);

    public virtual bool IsRight(int id, int version) => Id == id && Version == version && Check == (id ^ (version * 31));
}

internal sealed class ModelLeaf(int id) : ModelNode(id, 0)
{
    private readonly int _twin = id;

    public override bool IsRight(int id, int version) => base.IsRight(id, version) && _twin == id;
}

internal sealed class ModelPair<TFirst, TSecond>(TFirst first, TSecond second)
{
    public TFirst First { get; } = first;

    public TSecond Second { get; set; } = second;
}

/// <summary>How each kind of object is made from an id and a version, checked and changed.</summary>
internal static class ModelShapes
{
    private static readonly object[] s_boxes = [.. Enumerable.Range(0, 100).Select(number => (object)number)];

    public static object Make(ShapeKind kind, int id) => kind switch
    {
        ShapeKind.Node => new ModelNode(id, 0),
        ShapeKind.Bytes => Filled(new byte[id % 700 + 4], id, 0),
        ShapeKind.References => new object?[id % 40 + 2],
        ShapeKind.Text => "text-" + id,
        ShapeKind.Box => (id, 0L),
        ShapeKind.List => new List<int> { id, 0 },
        ShapeKind.Closure => Closure(id),
        ShapeKind.Structures => new Mixed[] { new(id, "text", null), new(id, null, null), new(0, null, null) },
        ShapeKind.Builder => new StringBuilder().Append(id).Append(':').Append(0),
        ShapeKind.Derived => new ModelLeaf(id),
        ShapeKind.Pair => new ModelPair<object, Mixed>(s_boxes[id % s_boxes.Length], new Mixed(0, null, null)),
        _ => Filled(new byte[33_000 + id % 5_000], id, 0),
    };

    /// <summary>True when the object is what the model says. Throws what the heap throws.</summary>
    public static bool IsRight(ShapeKind kind, object value, int id, int version)
    {
        switch (kind)
        {
            case ShapeKind.Node or ShapeKind.Derived:
                return ((ModelNode)value).IsRight(id, version) && value is ModelLeaf == (kind == ShapeKind.Derived);
            case ShapeKind.Bytes or ShapeKind.Large:
                byte[] bytes = (byte[])value;
                int length = kind == ShapeKind.Bytes ? id % 700 + 4 : 33_000 + id % 5_000;
                return bytes.Length == length && !bytes.AsSpan().ContainsAnyExcept(ByteOf(id, version));
            case ShapeKind.References:
                return ((object?[])value).Length == id % 40 + 2;
            case ShapeKind.Text:
                string text = (string)value;
                return text.StartsWith("text-", StringComparison.Ordinal) && int.Parse(text.AsSpan(5)) == id;
            case ShapeKind.Box:
                return ((int Id, long Zero))value == (id, 0L);
            case ShapeKind.List:
                var list = (List<int>)value;
                return list.Count == 2 && list[0] == id && list[1] == version;
            case ShapeKind.Closure:
                return ((Func<int, int>)value)(3) == id + 3;
            case ShapeKind.Structures:
                var mixed = (Mixed[])value;
                return mixed.Length == 3 && mixed[0].First == id && mixed[0].Text == "text" && mixed[0].IsWhole && mixed[2].First == version && mixed[2].IsWhole;
            case ShapeKind.Pair:
                var pair = (ModelPair<object, Mixed>)value;
                return (int)pair.First == id % s_boxes.Length && pair.Second.First == version && pair.Second.IsWhole;
            default:
                Span<char> wanted = stackalloc char[32];
                return wanted.TryWrite($"{id}:{version}", out int count) && ((StringBuilder)value).Equals(wanted[..count]);
        }
    }

    /// <summary>Writes the next version into the object; false when this kind does not change.</summary>
    public static bool Change(ShapeKind kind, object value, int id, int version)
    {
        switch (kind)
        {
            case ShapeKind.Node or ShapeKind.Derived:
                var node = (ModelNode)value;
                node.Check = id ^ (version * 31);
                node.Version = version;
                return true;
            case ShapeKind.Bytes or ShapeKind.Large:
                Filled((byte[])value, id, version);
                return true;
            case ShapeKind.List:
                ((List<int>)value)[1] = version;
                return true;
            case ShapeKind.Structures:
                ((Mixed[])value)[2] = new Mixed(version, null, value);
                return true;
            case ShapeKind.Pair:
                ((ModelPair<object, Mixed>)value).Second = new Mixed(version, null, value);
                return true;
            case ShapeKind.Builder:
                ((StringBuilder)value).Clear().Append(id).Append(':').Append(version);
                return true;
            default:
                return false;
        }
    }

    /// <summary>The bytes of an object of a kind that has some.</summary>
    public static Span<byte> BytesOf(object value) => (byte[])value;

    /// <summary>What each of them is.</summary>
    public static byte ByteOf(int id, int version) => (byte)(id * 7 + version);

    private static byte[] Filled(byte[] bytes, int id, int version)
    {
        bytes.AsSpan().Fill(ByteOf(id, version));
        return bytes;
    }

    private static Func<int, int> Closure(int id) => x => x + id;
}
