using System.Diagnostics;
using Freehold.Benchmarks;

// The small operations that every program is made of: ns for each, the least and the middle of many short samples. A sample is some 0.2 ms, shorter than
// the scheduler's time slice: most samples are undisturbed even on a busy machine. benchmarks/Compare runs this on each heap in turn.
// Not BenchmarkDotNet: its NativeAOT toolchain publishes a project of its own for each heap, and those publishes ran into its time limit here.
const int Samples = 150;
const double SampleSeconds = 0.0002;

var objects = new Objects();
var references = new References();
var calls = new Calls();
(string Name, int Operations, Func<long> Run)[] kernels =
[
    ("allocate_and_end", Objects.Count, objects.AllocateAndEnd),
    ("allocate_array_and_end", Objects.Count, objects.AllocateArrayAndEnd),
    ("allocate_string_and_end", Objects.Count, objects.AllocateStringAndEnd),
    ("store_in_field", References.Count, references.StoreInField),
    ("store_in_array_element", References.Count, references.StoreInArrayElement),
    ("compare", References.Count, references.Compare),
    ("compare_exchange", References.Count, references.CompareExchange),
    ("pin", References.Count, references.Pin),
    ("virtual_call", Calls.Count, calls.Virtual),
    ("interface_call", Calls.Count, calls.Interface),
    ("cast", Calls.Count, calls.Cast),
    ("list_index_of", Calls.Count, calls.ListIndexOf),
    ("dictionary_keyed_by_reference", Calls.Count, calls.DictionaryKeyedByReference),
    ("event_dispatch", Calls.Count, calls.EventDispatch),
    ("delegate_equality", Calls.Count, calls.DelegateEquality),
];

foreach (var (name, operations, run) in kernels)
{
    var repeats = 1;
    while (Time(run, repeats) < SampleSeconds)
    {
        repeats *= 2;
    }

    var samples = new double[Samples];
    for (var i = 0; i < Samples; i++)
    {
        samples[i] = Time(run, repeats) * 1e9 / ((double)repeats * operations);
    }

    Array.Sort(samples);
    Report.Write(name + "_ns", samples[0]);
    Report.Write(name + "_median_ns", samples[Samples / 2]);
}

Report.WriteHeap();
return 0;

static double Time(Func<long> run, int repeats)
{
    var start = Stopwatch.GetTimestamp();
    for (var i = 0; i < repeats; i++)
    {
        run();
    }

    return Stopwatch.GetElapsedTime(start).TotalSeconds;
}
