using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal sealed class Lock
{
    internal uint _state;

    public extern void Enter();

    public extern void Exit();

    internal extern void Exit(int thread);

    internal extern bool TryEnterOneShot(int thread);

    internal extern bool TryEnterSlow(int milliseconds, int thread);

    internal extern bool GetIsHeldByCurrentThread(int thread);
}
