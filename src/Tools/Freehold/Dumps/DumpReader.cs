using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;

namespace Freehold.Tool.Dumps;

/// <summary>Reads a dump (docs/internals/heap-dump.md). Whatever is wrong with it is told of with its place; nothing that it says is believed unseen.</summary>
internal sealed class DumpReader
{
    private const int MostTypeName = 1 << 20;
    private const long MostAddress = 1L << 57;

    // With a root for each object, they still have numbers.
    private const ulong MostReferences = 2_000_000_000;

    private readonly DumpFrames _frames;
    private readonly List<long> _addresses = [];
    private readonly List<int> _types = [];
    private readonly List<long> _sizes = [];
    private readonly List<ObjectState> _states = [];
    private readonly List<int> _firstReference = [];
    private readonly List<long> _targets = [];
    private readonly List<(RootKind Kind, long Thread, long Address)> _roots = [];
    private readonly List<(long Primary, long Secondary)> _dependents = [];
    private readonly List<string> _names = [];
    private int _mostType = -1;

    private DumpReader(DumpFrames frames) => _frames = frames;

    /// <exception cref="ToolException">There is no such file, it is no dump, or it is damaged.</exception>
    public static HeapGraph Read(string path) => ToolFile.Read(path, Read);

    /// <summary>The same of a stream; `name` is for messages.</summary>
    public static HeapGraph Read(Stream stream, string name)
    {
        var frames = new DumpFrames(stream, name);
        frames.ReadHeader();
        return new DumpReader(frames).ReadRecords();
    }

    private HeapGraph ReadRecords()
    {
        ProcessFacts process = default;
        while (true)
        {
            char record = (char)_frames.ReadByte();
            switch (record)
            {
                case 'P':
                    process = ReadProcess();
                    break;
                case 'O':
                    ReadObject();
                    break;
                case 'R':
                    ulong kind = _frames.ReadNumber();
                    Check(kind <= (ulong)RootKind.Finalizer, $"there is no kind {kind} of roots");
                    _roots.Add(((RootKind)kind, (long)_frames.ReadNumber(), ReadAddress()));
                    break;
                case 'D':
                    _dependents.Add((ReadAddress(), ReadAddress()));
                    break;
                case 'T':
                    _names.Add(ReadText());
                    break;
                case 'E':
                    ReadEnd();
                    return ToGraph(process);
                default:
                    throw _frames.Damaged($"there is no record of the kind {(int)record}");
            }
        }
    }

    private ProcessFacts ReadProcess()
    {
        ulong id = _frames.ReadNumber(), time = _frames.ReadNumber();
        Check(id <= int.MaxValue && time < 100_000_000_000, "it says what cannot be of the process");
        return new ProcessFacts((long)id, DateTimeOffset.FromUnixTimeSeconds((long)time), (long)_frames.ReadNumber(), (long)_frames.ReadNumber(), (long)_frames.ReadNumber());
    }

    private void ReadObject()
    {
        ulong typeAndState = _frames.ReadNumber();
        ulong type = typeAndState >> 2;
        Check((typeAndState & 3) <= (ulong)ObjectState.Frozen, "an object has no state that can be");
        // Types have numbers in the order of their first objects.
        Check(type <= (ulong)(_mostType + 1), $"an object has the type {type}, and there are {_mostType + 1}");
        _mostType = Math.Max(_mostType, (int)type);
        long address = (_addresses.Count == 0 ? 0 : _addresses[^1]) + (_frames.ReadDifference() * 8);
        Check(address is > 0 and < MostAddress, "an object has no address that can be");
        ulong size = _frames.ReadNumber();
        Check(size is > 0 and < MostAddress / 8, "an object has no size that can be");
        ulong references = _frames.ReadNumber();
        Check(references <= size, $"an object of {size * 8} bytes has {references} references");
        if (_addresses.Count == Array.MaxLength || (ulong)_targets.Count + (ulong)_addresses.Count + references > MostReferences)
        {
            throw new ToolException("the heap is too large for this tool: it has more than two billion objects or references.");
        }

        _addresses.Add(address);
        _types.Add((int)type);
        _sizes.Add((long)size * 8);
        _states.Add((ObjectState)(typeAndState & 3));
        _firstReference.Add(_targets.Count);
        for (ulong i = 0; i < references; i++)
        {
            _targets.Add(address + (_frames.ReadDifference() * 8));
        }
    }

    private long ReadAddress()
    {
        ulong words = _frames.ReadNumber();
        Check(words < MostAddress / 8, "an address cannot be");
        return (long)words * 8;
    }

    private string ReadText()
    {
        ulong length = _frames.ReadNumber();
        Check(length <= MostTypeName, $"the name of a type has {length} bytes");
        byte[] bytes = new byte[(int)length];
        _frames.ReadBytes(bytes);
        return Encoding.UTF8.GetString(bytes);
    }

    private void ReadEnd()
    {
        ulong objects = _frames.ReadNumber(), references = _frames.ReadNumber(), roots = _frames.ReadNumber(), types = _frames.ReadNumber();
        Check(objects == (ulong)_addresses.Count && references == (ulong)_targets.Count && roots == (ulong)_roots.Count,
            $"it has {_addresses.Count} objects, {_targets.Count} references and {_roots.Count} roots, and announces {objects}, {references} and {roots}");
        Check(types == (ulong)(_mostType + 1) && types == (ulong)_names.Count, $"it has {_mostType + 1} types and {_names.Count} names of types, and announces {types}");
        _frames.ExpectEnd();
    }

    private HeapGraph ToGraph(ProcessFacts process)
    {
        long[] addresses = [.. _addresses], sorted = addresses;
        int[]? order = null;
        for (int i = 1; i < addresses.Length && order is null; i++)
        {
            if (addresses[i] <= addresses[i - 1])
            {
                order = [.. Enumerable.Range(0, addresses.Length)];
                sorted = [.. addresses];
                Array.Sort(sorted, order);
            }
        }

        for (int i = 1; i < sorted.Length; i++)
        {
            long size = _sizes[order is null ? i - 1 : order[i - 1]];
            Check(sorted[i] - sorted[i - 1] >= size, $"the objects at {sorted[i - 1]:x} and {sorted[i]:x} overlap");
        }

        int Find(long address)
        {
            int place = Array.BinarySearch(sorted, address);
            return place < 0 ? HeapGraph.Gone : order is null ? place : order[place];
        }

        int[] first, references;
        (first, references) = LinkReferences(Find);
        var roots = new List<Root>();
        foreach ((RootKind kind, long thread, long address) in _roots)
        {
            if (Find(address) is >= 0 and int target)
            {
                roots.Add(new Root(kind, thread, target));
            }
        }

        return new HeapGraph
        {
            Process = process,
            TypeNames = [.. _names],
            Addresses = addresses,
            Types = [.. _types],
            Sizes = [.. _sizes],
            States = [.. _states],
            FirstReference = first,
            References = references,
            Roots = roots,
        };
    }

    private (int[] First, int[] References) LinkReferences(Func<long, int> find)
    {
        var dependents = new Dictionary<int, List<int>>();
        int added = 0;
        foreach ((long primary, long secondary) in _dependents)
        {
            if (find(primary) is >= 0 and int from && find(secondary) is >= 0 and int to)
            {
                if (!dependents.TryGetValue(from, out List<int>? list))
                {
                    dependents[from] = list = [];
                }

                list.Add(to);
                added++;
            }
        }

        int[] first = new int[_addresses.Count + 1], references = new int[checked(_targets.Count + added)];
        int next = 0;
        for (int i = 0; i < _addresses.Count; i++)
        {
            first[i] = next;
            int end = i + 1 < _addresses.Count ? _firstReference[i + 1] : _targets.Count;
            for (int j = _firstReference[i]; j < end; j++)
            {
                references[next++] = find(_targets[j]);
            }

            foreach (int to in dependents.GetValueOrDefault(i) ?? [])
            {
                references[next++] = to;
            }
        }

        first[^1] = next;
        return (first, references);
    }

    // The text is made where it is needed only: there are millions of objects.
    private void Check(bool condition, [InterpolatedStringHandlerArgument(nameof(condition))] ref Text what)
    {
        if (!condition)
        {
            throw _frames.Damaged(what.ToString());
        }
    }

    private void Check(bool condition, string what)
    {
        if (!condition)
        {
            throw _frames.Damaged(what);
        }
    }

    [InterpolatedStringHandler]
    private ref struct Text
    {
        private DefaultInterpolatedStringHandler _text;

        public Text(int literalLength, int formattedCount, bool condition, out bool isNeeded)
        {
            isNeeded = !condition;
            _text = condition ? default : new DefaultInterpolatedStringHandler(literalLength, formattedCount, CultureInfo.InvariantCulture);
        }

        public void AppendLiteral(string text) => _text.AppendLiteral(text);

        public void AppendFormatted<T>(T value) => _text.AppendFormatted(value);

        public void AppendFormatted<T>(T value, string format) => _text.AppendFormatted(value, format);

        public override string ToString() => _text.ToStringAndClear();
    }
}
