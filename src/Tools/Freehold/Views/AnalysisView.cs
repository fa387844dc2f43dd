using System.Globalization;
using System.Text.Json;
using Freehold.Tool.Dumps;

namespace Freehold.Tool.Views;

/// <summary>What a dump tells, as text and as JSON.</summary>
internal static class AnalysisView
{
    public static void Write(HeapGraph graph, HeapAnalysis analysis, int top, TextWriter output)
    {
        ProcessFacts process = graph.Process;
        output.WriteLine(Invariant($"Process {process.Id} at {process.Time:yyyy-MM-dd HH:mm:ss}Z: {Total(analysis.Live)} alive, {Total(analysis.Deleted)} deleted whose memory is still held; {Quantity.Bytes(process.ResidentBytes)} resident."));
        output.WriteLine(Invariant($"Roots: {string.Join(", ", analysis.RootsByKind().OrderBy(kind => kind.Key).Select(kind => Invariant($"{kind.Value:N0} {NameOf(kind.Key)}")))}; {analysis.Frozen.Sum(sum => sum.Count):N0} objects of the program's file."));
        WriteTypes("By type (retained: what would go with the objects of the type)", analysis.Live, retains: true, top, output);
        WriteObjects("What holds most (retained: what would go with the object)", analysis.LargestRetained(top), retains: true, output);
        WriteObjects("Largest objects", analysis.Largest(top), retains: false, output);
        WriteTypes("Unreachable: no root leads to these, and nobody deleted them", analysis.Unreachable, retains: false, top, output);
        WriteTypes("Deleted, and memory still held", analysis.Deleted, retains: false, top, output);
        if (analysis.Dangling.Count != 0)
        {
            Begin("References to deleted objects", output);
            foreach (DanglingSum sum in analysis.Dangling.Take(top))
            {
                output.WriteLine(Invariant($"{sum.Count,12:N0}  {Shown(sum.From)} -> {(sum.To is null ? "memory that was given back" : Shown(sum.To))}"));
            }

            WriteRest(analysis.Dangling.Count - top, "other pairs of types", output);
        }
    }

    public static void WritePath(HeapGraph graph, IReadOnlyList<int> path, TextWriter output)
    {
        if (path.Count == 0)
        {
            output.WriteLine("No root leads there: the object is unreachable, or deleted.");
            return;
        }

        output.WriteLine(RootPath.Describe(graph, path[0]));
        foreach (int node in path)
        {
            output.WriteLine(Invariant($"  -> {graph.Addresses[node]:x}  {Quantity.Bytes(graph.Sizes[node]),10}  {Shown(graph.TypeOf(node))}"));
        }
    }

    public static void WriteJson(HeapGraph graph, HeapAnalysis analysis, int top, TextWriter output)
    {
        using var stream = new MemoryStream();
        using (var writer = new Utf8JsonWriter(stream))
        {
            writer.WriteStartObject();
            writer.WriteNumber("process", graph.Process.Id);
            writer.WriteString("time", graph.Process.Time);
            writer.WriteNumber("allocatedBytes", graph.Process.AllocatedBytes);
            writer.WriteNumber("deletedBytes", graph.Process.DeletedBytes);
            writer.WriteNumber("residentBytes", graph.Process.ResidentBytes);
            writer.WriteStartObject("roots");
            foreach ((RootKind kind, int count) in analysis.RootsByKind().OrderBy(kind => kind.Key))
            {
                writer.WriteNumber(JsonNamingPolicy.CamelCase.ConvertName(kind.ToString()), count);
            }

            writer.WriteEndObject();
            Write("types", analysis.Live, retains: true);
            Write("unreachable", analysis.Unreachable, retains: false);
            Write("deleted", analysis.Deleted, retains: false);
            Write("frozen", analysis.Frozen, retains: false);
            WriteObjectList("retained", analysis.LargestRetained(top));
            WriteObjectList("largest", analysis.Largest(top));
            writer.WriteStartArray("dangling");
            foreach (DanglingSum sum in analysis.Dangling.Take(top))
            {
                writer.WriteStartObject();
                writer.WriteString("from", sum.From);
                writer.WriteString("to", sum.To);
                writer.WriteNumber("count", sum.Count);
                writer.WriteEndObject();
            }

            writer.WriteEndArray();
            writer.WriteEndObject();

            void Write(string name, IReadOnlyList<TypeSum> sums, bool retains)
            {
                writer.WriteStartArray(name);
                foreach (TypeSum sum in sums.Take(top))
                {
                    writer.WriteStartObject();
                    writer.WriteString("type", sum.Type);
                    writer.WriteNumber("count", sum.Count);
                    writer.WriteNumber("bytes", sum.Bytes);
                    if (retains)
                    {
                        writer.WriteNumber("retained", sum.Retained);
                    }

                    writer.WriteEndObject();
                }

                writer.WriteEndArray();
            }

            void WriteObjectList(string name, IEnumerable<ObjectSum> objects)
            {
                writer.WriteStartArray(name);
                foreach (ObjectSum found in objects)
                {
                    writer.WriteStartObject();
                    writer.WriteString("address", found.Address.ToString("x", CultureInfo.InvariantCulture));
                    writer.WriteString("type", found.Type);
                    writer.WriteNumber("bytes", found.Bytes);
                    writer.WriteNumber("retained", found.Retained);
                    writer.WriteEndObject();
                }

                writer.WriteEndArray();
            }
        }

        output.WriteLine(System.Text.Encoding.UTF8.GetString(stream.ToArray()));
    }

    private static void WriteTypes(string title, IReadOnlyList<TypeSum> sums, bool retains, int top, TextWriter output)
    {
        if (sums.Count == 0)
        {
            return;
        }

        Begin(title, output);
        output.WriteLine(Invariant($"{"bytes",12}  {(retains ? $"{"retained",12}  " : "")}{"objects",12}  type"));
        foreach (TypeSum sum in sums.Take(top))
        {
            output.WriteLine(Invariant($"{Quantity.Bytes(sum.Bytes),12}  {(retains ? $"{Quantity.Bytes(sum.Retained),12}  " : "")}{sum.Count,12:N0}  {Shown(sum.Type)}"));
        }

        WriteRest(sums.Count - top, "other types", output);
    }

    private static void WriteObjects(string title, IEnumerable<ObjectSum> objects, bool retains, TextWriter output)
    {
        Begin(title, output);
        foreach (ObjectSum found in objects)
        {
            output.WriteLine(Invariant($"{Quantity.Bytes(retains ? found.Retained : found.Bytes),12}  {found.Address:x}  {Shown(found.Type)}"));
        }
    }

    private static void Begin(string title, TextWriter output)
    {
        output.WriteLine();
        output.WriteLine(title);
    }

    private static void WriteRest(int count, string what, TextWriter output)
    {
        if (count > 0)
        {
            output.WriteLine(Invariant($"{"",12}  and {count:N0} {what} (--top)"));
        }
    }

    private static string Total(IReadOnlyList<TypeSum> sums) => Invariant($"{Quantity.Bytes(sums.Sum(sum => sum.Bytes))} in {sums.Sum(sum => sum.Count):N0} objects");

    private static string NameOf(RootKind kind) => kind switch
    {
        RootKind.Stack => "on stacks",
        RootKind.ThreadStatic => "in thread statics",
        RootKind.Handle => "handles",
        RootKind.PinnedHandle => "pinned handles",
        RootKind.CountedHandle => "handles of native code",
        _ => "objects that wait for finalizers",
    };

    // Names of types are the other process's.
    private static string Shown(string type) => type.Length == 0 ? "(a type without a name)" : PlainText.Of(type).Replace('\n', ' ');

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
