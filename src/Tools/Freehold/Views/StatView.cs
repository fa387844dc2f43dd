using System.Globalization;
using Freehold.Tool.Protocol;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace Freehold.Tool.Views;

/// <summary>The figures as a table: what there is now, and how fast what only grows has grown since the look before.</summary>
internal sealed class StatView(int process, bool all)
{
    private static readonly HashSet<string> s_important =
    [
        "AllocatedBytes", "DeletedBytes", "LiveBytes", "ResidentBytes", "DeletedObjects", "DoubleDeletes", "DanglingFaults", "DeadPages", "LargeObjects", "Mappings", "PinnedBlocks",
        "MovedBytes", "RepairedFaults", "Reclaims", "ReclaimedBytes", "Scopes", "Stops", "LongestTimeToStop", "LongestReclaimStop", "LongestRemapStop", "LongestScopeStop", "LongestPinStop",
        "MemoryLimit", "MemoryHeld", "Native.UsedBytes", "Native.SavedBytes", "Handles.LiveBytes", "Handles.ResidentBytes",
    ];

    private IReadOnlyList<Figure> _figures = [];
    private Dictionary<string, long> _before = [];
    private string _heldUpBy = "";
    private double _seconds;
    private long _looked;

    /// <summary>The next look.</summary>
    /// <param name="figures">What the process says.</param>
    /// <param name="heldUpBy">Whom the longest stop waited for.</param>
    /// <param name="time">When, as <see cref="TimeProvider.GetTimestamp"/> says it.</param>
    public void Take(IReadOnlyList<Figure> figures, string heldUpBy, long time)
    {
        _before = [];
        foreach (Figure figure in _figures)
        {
            _before[figure.Name] = figure.Value;
        }

        _seconds = _looked == 0 ? 0 : TimeProvider.System.GetElapsedTime(_looked, time).TotalSeconds;
        _looked = time;
        _figures = figures;
        _heldUpBy = heldUpBy;
    }

    public IRenderable Render()
    {
        Table table = new Table().Border(TableBorder.Rounded).Title(Invariant($"process {process}"));
        table.AddColumn("figure");
        table.AddColumn(new TableColumn("now").RightAligned());
        bool rates = _before.Count != 0 && _seconds > 0;
        if (rates)
        {
            table.AddColumn(new TableColumn("each second").RightAligned());
        }

        foreach (Figure figure in _figures.Where(IsShown))
        {
            var cells = new List<string> { Markup.Escape(figure.Name), Markup.Escape(Quantity.Of(figure.Value, figure.Unit)) };
            if (rates)
            {
                // A time that grows by the second is a share of it.
                cells.Add(figure.IsTotal && _before.TryGetValue(figure.Name, out long before) ? Markup.Escape(Quantity.Of(Math.Max(0, figure.Value - before) / _seconds, figure.Unit)) : "");
            }

            table.AddRow([.. cells]);
        }

        if (_heldUpBy.Length != 0)
        {
            table.Caption(Markup.Escape("the longest stop waited for " + _heldUpBy));
        }

        return table;
    }

    // A heap that the process does not have, and what is off, need no rows.
    private bool IsShown(Figure figure) => all || (s_important.Contains(figure.Name) && (figure.Value != 0 || !(figure.Name.Contains('.', StringComparison.Ordinal) || figure.Name is "MemoryLimit")));

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
