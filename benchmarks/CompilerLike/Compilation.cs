namespace Freehold.Benchmarks.CompilerLike;

/// <summary>One run of the compiler: what it makes on the way nobody needs when it has ended.</summary>
internal static class Compilation
{
    public sealed record Result(byte[] Image, int Tokens, int Skipped, int Found);

    public static Result Run(IReadOnlyList<string> texts)
    {
        var names = new Names();
        var units = new List<Node>();
        var (tokens, skipped) = (0, 0);
        foreach (var text in texts)
        {
            var words = new Lexer(text, names).Run();
            var parser = new Parser(words, names);
            units.Add(parser.Unit());
            tokens += words.Count;
            skipped += parser.Skipped;
        }

        var binder = new Binder();
        foreach (var unit in units)
        {
            unit.Declare(binder);
        }

        var bound = new List<BoundNode>();
        foreach (var unit in units)
        {
            bound.Add(unit.Bind(binder));
        }

        var emitter = new Emitter();
        foreach (var unit in bound)
        {
            emitter.Emit(unit);
        }

        return new Result(emitter.Finish(), tokens, skipped, binder.Found);
    }
}
