using Jint;
using Jint.Runtime;

namespace Freehold.Differential.Programs;

/// <summary>Jint: an interpreter, whose objects, closures and generators are those of this heap.</summary>
internal static class JavaScript
{
    private const string Script = """
        function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        print(fib(16));
        class Cell {
            constructor(x) { this.x = x; }
            get twice() { return this.x * 2; }
            *upTo() { for (let i = 0; i < this.x; i++) yield i; }
        }
        let sum = 0;
        for (const cell of [...Array(200).keys()].map(i => new Cell(i))) sum += cell.twice + [...cell.upTo()].length;
        print(sum);
        const counts = new Map();
        for (let i = 0; i < 3000; i++) counts.set('k' + i % 100, (counts.get('k' + i % 100) ?? 0) + i);
        print(JSON.stringify([...counts].slice(0, 8)));
        print('abcdefghijklmnopqrstuvwxyz'.repeat(40).replace(/[aeiou]/g, c => c.toUpperCase()).split('E').length);
        print(Array.from({ length: 2000 }, (_, i) => i * 7919 % 1009).sort((a, b) => a - b).slice(0, 20).join());
        const tree = n => n ? { left: tree(n - 1), right: tree(n - 1) } : null;
        const size = t => t ? 1 + size(t.left) + size(t.right) : 0;
        print(size(tree(10)));
        try { null.foo; } catch (error) { print(error.message); }
        const seen = new WeakMap(); const key = {}; seen.set(key, 'kept'); print(seen.get(key));
        """;

    public static void Run()
    {
        for (int i = 0; i < 8; i++)
            RunOnce();
    }

    private static void RunOnce()
    {
        var engine = new Engine();
        engine.SetValue("print", new Action<object>(value => Console.WriteLine(value)));
        engine.Execute(Script);
        Console.WriteLine(engine.Evaluate("[1, 2, 3].map(x => x ** 2)").AsArray().Sum(value => value.AsNumber()));
        try
        {
            engine.Evaluate("throw new RangeError('out of it')");
        }
        catch (JavaScriptException exception)
        {
            Console.WriteLine(exception.Message);
        }
    }
}
