namespace Freehold.Tool.Protocol;

/// <summary>What a process can be asked: enum Command of src/Allocator/diag/diagnostic_socket.h.</summary>
internal enum Command : ushort
{
    Stat = 1,
    Leaks = 2,
    Verify = 3,
    Dump = 4,

    /// <summary>Also where the fork that it needs has a lasting price.</summary>
    DumpAnyway = 5,
}

/// <summary>How it went: enum Status there.</summary>
internal enum Status : ushort
{
    Done = 0,
    BadRequest = 1,
    OtherVersion = 2,
    UnknownCommand = 3,
    Failed = 4,
    NotAllowed = 5,
}
