using System.Text;
using YamlDotNet.RepresentationModel;

namespace Freehold.Differential.Programs;

/// <summary>YamlDotNet: a document with anchors read and written.</summary>
internal static class Yaml
{
    public static void Run()
    {
        var text = new StringBuilder();
        for (int i = 0; i < 3000; i++)
            text.Append($"k{i}:\n  - {i}\n  - 'text {i}'\n  - {{a: {i}, b: [1, 2, {i}]}}\n  - &x{i} anchor\n  - *x{i}\n");
        var stream = new YamlStream();
        stream.Load(new StringReader(text.ToString()));
        var root = (YamlMappingNode)stream.Documents[0].RootNode;
        using var writer = new StringWriter();
        stream.Save(writer, assignAnchors: false);
        var sum = new Checksum();
        sum.Add(writer.ToString());
        Console.WriteLine($"{root.Children.Count} {root["k7"][2]["b"][2]} {ReferenceEquals(root["k9"][3], root["k9"][4])} {sum}");
    }
}
