namespace Freehold.Differential.Programs;

/// <summary>Interface dispatch with default members, diamonds, explicit implementations and structs.</summary>
internal static partial class DefaultInterfaces
{
    private interface IAnimal
    {
        string Name { get; }

        string Speak() => Name + " is silent";

        string Twice() => Speak() + "," + Speak();
    }

    private interface IDog : IAnimal
    {
        string IAnimal.Speak() => Name + " barks";
    }

    private interface ITrained : IAnimal
    {
        string Speak(string command) => command + ":" + Speak();
    }

    private sealed class Cat : IAnimal
    {
        public string Name => "cat";
    }

    private sealed class Dog(string name) : IDog, ITrained
    {
        public string Name => name;
    }

    private struct Bird : IAnimal
    {
        private int _spoken;

        public readonly string Name => "bird";

        public string Speak() => "tweet" + ++_spoken;
    }

    private interface IShape<T>
    {
        T Area();

        T Double() => Area();
    }

    private sealed class Both : IShape<int>, IShape<string>
    {
        int IShape<int>.Area() => 7;

        string IShape<string>.Area() => "seven";

        string IShape<string>.Double() => "fourteen";
    }

    public static void Run()
    {
        IAnimal[] animals = [new Cat(), new Dog("rex"), new Bird(), new Dog("fido")];
        var sum = new Checksum();
        for (int i = 0; i < 20_000; i++)
            sum.Add(animals[i % 4].Twice());
        Console.WriteLine(sum);
        foreach (IAnimal animal in animals)
            Console.WriteLine(animal.Twice() + " " + (animal as ITrained)?.Speak("sit"));
        IShape<int> number = new Both();
        var text = (IShape<string>)number;
        Console.WriteLine(number.Double() + text.Double());
        object boxed = new Bird();
        Console.WriteLine(((IAnimal)boxed).Speak() + ((IAnimal)boxed).Speak() + ((Bird)boxed).Speak() + ((IAnimal)boxed).Speak());
        int matches = 0;
        object[] objects = ["s", 1, new Cat(), new int[2], new List<IAnimal>(), animals, 2.5, new Bird()];
        for (int i = 0; i < 80_000; i++)
        {
            object value = objects[i % objects.Length];
            matches += value is IAnimal ? 1 : value is IEnumerable<object> ? 10 : value is IConvertible ? 100 : value is System.Collections.ICollection ? 1_000 : 0;
        }
        Console.WriteLine(matches);
        try
        {
            _ = (IDog)objects[2];
        }
        catch (InvalidCastException)
        {
            Console.WriteLine("not a dog");
        }
    }
}
