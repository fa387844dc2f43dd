namespace Freehold.Differential;

/// <summary>Every program, in the order in which `Ecosystem list` prints them.</summary>
internal static class Catalog
{
    public static readonly Entry[] All =
    [
        new(nameof(Programs.Buffers), Programs.Buffers.Run),
        new(nameof(Programs.Database), Programs.Database.Run),
        new(nameof(Programs.Html), Programs.Html.Run),
        new(nameof(Programs.JavaScript), Programs.JavaScript.Run),
        new(nameof(Programs.Logging), Programs.Logging.Run),
        new(nameof(Programs.LongRunningServer), Programs.LongRunningServer.Run),
        new(nameof(Programs.Markdown), Programs.Markdown.Run),
        new(nameof(Programs.MessageQueue), Programs.MessageQueue.Run),
        new(nameof(Programs.ProtocolBuffers), Programs.ProtocolBuffers.Run),
        new(nameof(Programs.Reactive), Programs.Reactive.Run),
        new(nameof(Programs.ScopedServer), Programs.ScopedServer.Run),
        new(nameof(Programs.TimeZones), Programs.TimeZones.Run),
        new(nameof(Programs.WebServer), Programs.WebServer.Run),
        new(nameof(Programs.WebSocketServer), Programs.WebSocketServer.Run),
        new(nameof(Programs.Yaml), Programs.Yaml.Run),
    ];

    /// <summary>Commands beside those that every such program has: none.</summary>
    public static IReadOnlyDictionary<string, Func<string[], int>> Commands { get; } = new Dictionary<string, Func<string[], int>>();
}
