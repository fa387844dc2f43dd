using System.Diagnostics;
using System.Text.Json;
using System.Text.RegularExpressions;
using Freehold.Integration.Tests;

namespace Freehold.Templates.Tests;

/// <summary>Each template makes a project that is published without a warning and does what its comments say.</summary>
public class TemplateTests(InstalledTemplates templates) : IClassFixture<InstalledTemplates>
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(5);

    [Fact]
    public void ThePackageHasBothTemplates()
    {
        Assert.Contains("freehold-console", templates.Installation);
        Assert.Contains("freehold-web", templates.Installation);
    }

    [Fact]
    public void TheConsoleProgramGivesMemoryBack()
    {
        string folder = templates.Create("freehold-console", "Shop");
        string project = File.ReadAllText(Path.Combine(folder, "Shop.csproj"));
        Assert.Contains($"""<PackageReference Include="Freehold" Version="{InstalledTemplates.FreeholdVersion}" />""", project);
        Outcome outcome = new Executable(templates.Publish(folder)).Run(null, TimeSpan.FromMinutes(10));

        Assert.Equal(0, outcome.ExitCode);
        Match freed = Regex.Match(outcome.Output, @"\AFreehold's heap\n1, 4, 9, 16, 25\n(\d+) MB were given back\n\z");
        Assert.True(freed.Success, outcome.ToString());
        // 100,000 texts of 32 to 40 bytes, and the array.
        Assert.InRange(int.Parse(freed.Groups[1].Value), 3, 8);
    }

    [Fact]
    public async Task TheWebServiceAnswersAndDeletesWhatARequestMakes()
    {
        string folder = templates.Create("freehold-web", "Desk");
        Assert.Contains("app.UseHeapScopes();", File.ReadAllText(Path.Combine(folder, "Program.cs")));
        using var service = Process.Start(new ProcessStartInfo(templates.Publish(folder), ["--urls", "http://127.0.0.1:0"]) { RedirectStandardOutput = true })!;
        try
        {
            string address = await AddressAsync(service);
            using var client = new HttpClient { BaseAddress = new Uri(address), Timeout = s_patience };

            Assert.Equal("""{"number":2,"article":"a hammer","count":1}""", await client.GetStringAsync("/orders/2"));
            Assert.Equal(System.Net.HttpStatusCode.NotFound, (await client.GetAsync(new Uri("/orders/9", UriKind.Relative))).StatusCode);
            for (int i = 0; i < 20; i++)
                Assert.Equal(3, JsonDocument.Parse(await client.GetStringAsync("/orders")).RootElement.GetArrayLength());
            JsonElement heap = JsonDocument.Parse(await client.GetStringAsync("/heap")).RootElement;
            Assert.True(heap.GetProperty("isManual").GetBoolean());
            Assert.True(heap.GetProperty("scopes").GetInt64() > 0, heap.ToString());
            Assert.True(heap.GetProperty("deletedBytes").GetInt64() > 0, heap.ToString());
        }
        finally
        {
            service.Kill();
            await service.WaitForExitAsync();
        }
    }

    // Kestrel's line with the port that it got.
    private static async Task<string> AddressAsync(Process service)
    {
        using var patience = new CancellationTokenSource(s_patience);
        while (await service.StandardOutput.ReadLineAsync(patience.Token) is string line)
        {
            if (Regex.Match(line, @"http://127\.0\.0\.1:\d+") is { Success: true } address)
            {
                // What follows is read, too, so that the service never waits for room.
                _ = service.StandardOutput.ReadToEndAsync(CancellationToken.None);
                return address.Value;
            }
        }

        throw new InvalidOperationException("the service ended before it listened");
    }
}
