using System.Xml.Linq;

namespace Freehold.Differential.Programs;

/// <summary>XDocument: building, querying, editing and saving trees.</summary>
internal static partial class XmlLinq
{
    public static void Run()
    {
        var random = new Random(8);
        XNamespace ns = "urn:x";
        var root = new XElement(ns + "root", new XAttribute("version", 1));
        for (int i = 0; i < 2_000; i++)
        {
            root.Add(new XElement(
                ns + "item",
                new XAttribute("key", "k" + i % 40),
                new XElement(ns + "value", random.Next(1_000)),
                i % 6 == 0 ? new XComment("six") : null));
        }
        var groups = from item in root.Elements(ns + "item")
                     group (int)item.Element(ns + "value")! by (string)item.Attribute("key")! into key
                     orderby key.Key.Length, key.Key
                     select key.Key + "=" + key.Sum();
        Console.WriteLine(string.Join(' ', groups));
        root.Descendants(ns + "value").Where(value => (int)value % 3 == 0).Remove();
        foreach (XElement item in root.Elements().Where(item => !item.HasElements).ToList())
            item.ReplaceWith(new XElement(ns + "empty", item.Attributes()));
        root.DescendantNodes().OfType<XComment>().Remove();
        string text = root.ToString(SaveOptions.DisableFormatting);
        var sum = new Checksum();
        sum.Add(text);
        Console.WriteLine($"{text.Length} {sum} {root.Elements(ns + "empty").Count()}");
        XDocument copy = XDocument.Parse(text);
        Console.WriteLine(XNode.DeepEquals(copy.Root, root) + " " + copy.Descendants().Count());
        copy.Root!.SetAttributeValue("version", 2);
        Console.WriteLine(XNode.DeepEquals(copy.Root, root));
    }
}
