namespace Freehold.Tool.Deaths;

/// <summary>How sampled objects ended, by what held them in the last look that found them alive: the numbers of heap/death_table.h.</summary>
internal enum DeathKind
{
    Lives = 0,
    Deleted = 1,
    Unseen = 2,
    Stack = 3,
    HolderDied = 4,
    Replaced = 5,
    Shared = 6,
    Handle = 7,
    Other = 8,
    Emptied = 9,
}
