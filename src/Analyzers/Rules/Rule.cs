using Microsoft.CodeAnalysis;

namespace Freehold.Analyzers;

/// <summary>The rules FH1xxx. docs/analyzers has a page for each.</summary>
internal static class Rule
{
    public static readonly DiagnosticDescriptor UseAfterDelete = Make("FH1001", "Use after deletion", "'{0}' is used after its deletion on every path that leads here", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor PossibleUseAfterDelete = Make("FH1002", "Possible use after deletion", "'{0}' may be used here after its deletion", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor DeletedTwice = Make("FH1003", "Deleted twice", "'{0}' was deleted before on every path that leads here", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor PossiblyDeletedTwice = Make("FH1004", "Possibly deleted twice", "'{0}' may have been deleted before", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor CannotBeDeleted = Make("FH1005", "Object that cannot be deleted", "'{0}' is {1}, which '{2}' cannot delete", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor StaticDeleted = Make("FH1006", "Deletion of a static object", "'{0}' deletes the object of the static '{1}', which others still reach by that name", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor PooledDeleted = Make("FH1007", "Deletion of a pooled object", "'{0}' is rented from a pool: return it there instead of deleting it", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor EnumeratedDeleted = Make("FH1008", "Deletion of a collection inside its own loop", "'{0}' is deleted while the 'foreach' around still enumerates it", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor CapturedDeleted = Make("FH1009", "Deletion of a captured object", "'{0}' is deleted here, and a delegate that may run later still uses it", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor DeletedInLock = Make("FH1010", "Deletion inside the object's lock", "'{0}' is deleted inside of its own 'lock': other threads may wait for that lock", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor LocalDropped = Make("FH1011", "Object is dropped without deletion", "Only '{0}' refers to this object, and nothing deletes it", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor FieldNotOwned = Make("FH1012", "Field may be marked [Owned]", "Only the field '{0}' refers to its object: marked [Owned], that is deleted with its '{1}'", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor OwnedStored = Make("FH1013", "Owned object is stored elsewhere", "'{0}' is marked [Owned], but its object is stored in '{1}' too, which may outlive the owner", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor OwnedReturned = Make("FH1014", "Owned object is handed out", "'{0}' is marked [Owned], but '{1}' gives its object to callers, who may keep it longer than the owner lives", DiagnosticSeverity.Info);

    public static readonly DiagnosticDescriptor OwnedMisplaced = Make("FH1015", "[Owned] on a field that cannot own", "'{0}' cannot be marked [Owned], which is for instance fields of a class that are of a reference type", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor ReferenceAsNumber = Make("FH1016", "Reference is read as a number", "A reference to '{0}' is read as a number or a raw pointer: the number does not follow the object when it moves", DiagnosticSeverity.Warning);

    public static readonly DiagnosticDescriptor LibraryCall = Make("FH1017", "Call of Heap in a library", "'{0}' is called in a library, whose program may run on a garbage collector: ask 'Heap.IsManual' where that matters", DiagnosticSeverity.Info);

    // The page's place in the package and in the repository.
    private static DiagnosticDescriptor Make(string id, string title, string message, DiagnosticSeverity severity) =>
        new(id, title, message, "Freehold", severity, isEnabledByDefault: true, helpLinkUri: $"docs/analyzers/{id}.md");
}
