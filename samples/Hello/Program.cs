var greeting = new Greeting("hello");
var weak = new WeakReference<Greeting>(greeting);
var buffer = new byte[64 << 20];
Array.Fill(buffer, (byte)1);
Console.WriteLine($"{Heap.GetStatistics().ResidentBytes >> 20} MB resident");

Heap.Delete(greeting);  // its finalizer first, then its memory
Heap.Delete(buffer);
Console.WriteLine($"{Heap.GetStatistics().ResidentBytes >> 20} MB resident");

Try("greeting.Text", () => greeting.Text);
Try("buffer[0]", () => buffer[0]);
Try("deleted twice", () => { Heap.Delete(greeting); return "no"; });
Try("weak reference", () => weak.TryGetTarget(out _) ? "alive" : "null");

static void Try(string what, Func<object> use)
{
    try { Console.WriteLine($"{what}: {use()}"); }
    catch (Exception e) { Console.WriteLine($"{what}: {e.GetType().Name}"); }
}

sealed class Greeting(string text)
{
    public string Text => text;
    ~Greeting() => Console.WriteLine($"finalizer of '{text}'");
}

// Prints:
// > 68 MB resident
// > finalizer of 'hello'
// > 4 MB resident
// > greeting.Text: hello
// > buffer[0]: DanglingReferenceException
// > deleted twice: DoubleDeleteException
// > weak reference: null
