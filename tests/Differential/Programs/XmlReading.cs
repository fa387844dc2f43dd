using System.Globalization;
using System.Text;
using System.Xml;

namespace Freehold.Differential.Programs;

/// <summary>XmlWriter and XmlReader over one large document.</summary>
internal static partial class XmlReading
{
    public static void Run()
    {
        var text = new StringBuilder();
        using (XmlWriter writer = XmlWriter.Create(text, new XmlWriterSettings { Indent = true, OmitXmlDeclaration = true }))
        {
            writer.WriteStartElement("library", "urn:freehold:books");
            for (int i = 0; i < 3_000; i++)
            {
                writer.WriteStartElement("book");
                writer.WriteAttributeString("id", i.ToString(CultureInfo.InvariantCulture));
                writer.WriteElementString("title", "Title <" + i + "> & more");
                writer.WriteStartElement("pages");
                writer.WriteValue(i * 3);
                writer.WriteEndElement();
                if (i % 10 == 0)
                    writer.WriteCData("raw <data> " + i);
                if (i % 11 == 0)
                    writer.WriteComment(" comment " + i + " ");
                writer.WriteEndElement();
            }
            writer.WriteEndElement();
        }
        string xml = text.ToString();
        var sum = new Checksum();
        sum.Add(xml);
        Console.WriteLine($"{xml.Length} {sum}");
        using XmlReader reader = XmlReader.Create(new StringReader(xml), new XmlReaderSettings { IgnoreWhitespace = true });
        var kinds = new SortedDictionary<string, int>(StringComparer.Ordinal);
        long pages = 0;
        while (reader.Read())
        {
            string kind = reader.NodeType.ToString();
            kinds[kind] = kinds.GetValueOrDefault(kind) + 1;
            if (reader.NodeType == XmlNodeType.Text)
                pages += int.TryParse(reader.Value, out int value) ? value : 1;
        }
        Console.WriteLine(string.Join(' ', kinds) + " " + pages);
        try
        {
            using XmlReader broken = XmlReader.Create(new StringReader("<a><b></a>"));
            while (broken.Read())
            {
            }
        }
        catch (XmlException exception)
        {
            Console.WriteLine(exception.LineNumber + ":" + exception.LinePosition);
        }
    }
}
