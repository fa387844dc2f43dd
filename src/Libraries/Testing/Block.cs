namespace Freehold.Testing;

/// <summary>What a test gives to run: a method, or an asynchronous one that is run to its end.</summary>
internal sealed class Block
{
    private readonly Action? _action;
    private readonly Func<Task>? _asynchronous;

    internal Block(Action action) => _action = action;

    internal Block(Func<Task> asynchronous) => _asynchronous = asynchronous;

    /// <summary>The type of the task that the last run made: it is the block's own, and nobody could delete it. 0 if there was none.</summary>
    internal nint TaskType { get; private set; }

    internal void Run()
    {
        if (_action is not null)
        {
            _action();
            return;
        }

        Task task = _asynchronous!() ?? throw new InvalidOperationException("The block returned no task.");
        // By polling: to wait for a task allocates, and what it allocates would count as the block's.
        while (!task.IsCompleted)
        {
            Thread.Sleep(1);
        }

        TaskType = task.GetType().TypeHandle.Value;
        task.GetAwaiter().GetResult();
    }
}
