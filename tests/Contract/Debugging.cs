namespace Freehold.Contract;

/// <summary>Point 10, and what the environment variables print.</summary>
internal static class Debugging
{
    public static IEnumerable<Case> All()
    {
        yield return new("nothing", _ => Heap.Delete(new object()));
        yield return new("debug-type", _ => TypeIsNamed());
        yield return new("debug-immediately", _ => Immediately());
    }

    private static void TypeIsNamed()
    {
        Expect.True(DebugMode.IsOn);
        var subject = new Subject(4);
        Heap.Delete(subject);
        DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(() => Console.WriteLine(subject.Value));
        Expect.True(exception.Message.Contains(nameof(Subject)), exception.Message);
        byte[] large = new byte[200_000];
        Heap.Delete(large);
        exception = Expect.Throws<DanglingReferenceException>(() => Console.WriteLine(large[5]));
        Expect.True(exception.Message.Contains("Byte[]"), exception.Message);
    }

    private static void Immediately()
    {
        Expect.True(DebugMode.IsOn);
        for (int i = 0; i < 2_000; i++)
        {
            var subject = new Subject(i);
            var neighbour = new Subject(-i);
            string text = "text" + i;
            Heap.Delete(subject);
            Heap.Delete(text);
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value));
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(text.Length));
            Expect.Equal(-i, neighbour.Value);
        }
    }
}
