using System.Net;
using System.Net.Mail;

namespace Freehold.Differential.Programs;

/// <summary>Uri parsing, web utility escaping, mail addresses, IP addresses and version numbers.</summary>
internal static partial class UrisAndWeb
{
    public static void Run()
    {
        var root = new Uri("http://user@example.org:8080/a/b/c?x=1#frag");
        Console.WriteLine($"{root.Host} {root.Port} {root.AbsolutePath} {root.Query} {root.Fragment} {root.UserInfo} {root.IsDefaultPort}");
        foreach (string relative in new[] { "../d", "/e", "f?g=h", "//other.org/x", "#y", "https://z/" })
            Console.WriteLine(new Uri(root, relative));
        var sum = new Checksum();
        for (int i = 0; i < 3_000; i++)
        {
            string text = "va lue&=" + i + "/\u00e9<\">";
            string escaped = Uri.EscapeDataString(text);
            string html = WebUtility.HtmlEncode(text);
            if (Uri.UnescapeDataString(escaped) != text || WebUtility.HtmlDecode(html) != text || WebUtility.UrlDecode(WebUtility.UrlEncode(text)) != text)
                Console.WriteLine("lost " + text);
            sum.Add(escaped + html);
            sum.Add(new Uri("https://example.org/p" + i + "/%7Euser/../q?k=" + escaped).AbsoluteUri);
        }
        Console.WriteLine(sum);
        Console.WriteLine(Uri.TryCreate("http://[bad", UriKind.Absolute, out _) + " " + new Uri("http://b\u00fccher.example/").IdnHost + " " + root.MakeRelativeUri(new Uri("http://user@example.org:8080/a/z")));
        Console.WriteLine(IPAddress.Parse("fe80::1:2") + " " + IPAddress.IsLoopback(IPAddress.IPv6Loopback) + " " + IPNetwork.Parse("10.1.0.0/16").Contains(IPAddress.Parse("10.1.200.3")) + " " + IPEndPoint.Parse("[::1]:443"));
        Console.WriteLine(new MailAddress("\"A B\" <a.b@example.org>").DisplayName + " " + MailAddress.TryCreate("nope", out _) + " " + Version.Parse("1.2.3.4").CompareTo(new Version(1, 10)));
    }
}
