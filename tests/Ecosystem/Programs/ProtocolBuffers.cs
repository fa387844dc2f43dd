using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;

namespace Freehold.Differential.Programs;

/// <summary>Google.Protobuf: messages to bytes, to JSON, and back.</summary>
internal static class ProtocolBuffers
{
    public static void Run()
    {
        var message = new Struct();
        for (int i = 0; i < 500; i++)
        {
            message.Fields["field" + i] = (i % 3) switch
            {
                0 => Value.ForNumber(i),
                1 => Value.ForString("text" + i),
                _ => Value.ForList([.. Enumerable.Range(0, i % 9).Select(x => Value.ForBool(x % 2 == 0))]),
            };
        }

        byte[] bytes = message.ToByteArray();
        int equal = 0;
        for (int i = 0; i < 400; i++)
        {
            Struct copy = Struct.Parser.ParseFrom(bytes).Clone();
            equal += copy.Equals(message) && copy.GetHashCode() == message.GetHashCode() ? 1 : 0;
            Manual.Delete(bytes);
            bytes = copy.ToByteArray();
        }

        var sum = new Checksum();
        string json = JsonFormatter.Default.Format(message);
        sum.Add(json);
        Console.WriteLine($"{bytes.Length} {equal} {sum} {JsonParser.Default.Parse<Struct>(json).Equals(message)}");
    }
}
