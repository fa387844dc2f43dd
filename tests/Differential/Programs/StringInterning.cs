namespace Freehold.Differential.Programs;

/// <summary>Interned strings are one object; others are equal but distinct.</summary>
internal static partial class StringInterning
{
    public static void Run()
    {
        var interned = new List<string>();
        int same = 0;
        for (int i = 0; i < 10_000; i++)
        {
            string text = "intern-" + i % 2_000;
            string one = string.Intern(text);
            same += ReferenceEquals(one, text) ? 1 : 0;
            interned.Add(one);
        }
        int pairs = 0;
        for (int i = 2_000; i < interned.Count; i++)
            pairs += ReferenceEquals(interned[i], interned[i - 2_000]) ? 1 : 0;
        Console.WriteLine($"{same} {pairs} {interned.Distinct(ReferenceEqualityComparer.Instance).Count()}");
        Console.WriteLine(string.IsInterned("intern-77" + Environment.NewLine.Trim()) is not null);
        Console.WriteLine(string.IsInterned("never-" + interned.Count) is null);
        Console.WriteLine(ReferenceEquals(string.Empty, string.Intern(new string([]))));
        string literal = "a literal";
        Console.WriteLine(ReferenceEquals(literal, string.Intern("a " + "literal")));
    }
}
