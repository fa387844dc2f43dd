// What the README shows: every outcome of a use after Heap.Delete.
var greeting = new Greeting("hello");
var weak = new WeakReference<Greeting>(greeting);
var buffer = new byte[64 << 20];
Array.Fill(buffer, (byte)1);
Report("before");

Heap.Delete(greeting);  // its finalizer first, then its memory
Heap.Delete(buffer);
Report("after ");

Try("greeting.Text", () => greeting.Text);
Try("buffer[0]", () => buffer[0]);
Try("Heap.Delete(greeting)", () => { Heap.Delete(greeting); return "deleted"; });
Try("Heap.Delete(typeof(int))", () => { Heap.Delete(typeof(int)); return "deleted"; });
Try("weak.TryGetTarget", () => weak.TryGetTarget(out _));

static void Report(string when)
{
    HeapStatistics heap = Heap.GetStatistics();
    Console.WriteLine($"{when}: {heap.DeletedObjects} objects deleted, {heap.ResidentBytes >> 20} MB resident, manual heap: {Heap.IsManual}");
}

static void Try(string what, Func<object> use)
{
    try { Console.WriteLine($"{what}: {use()}"); }
    catch (Exception e) { Console.WriteLine($"{what}: {e.GetType().Name}: {e.Message}"); }
}

sealed class Greeting(string text)
{
    public string Text => text;

    ~Greeting() => Console.WriteLine("finalizer of " + text);
}
