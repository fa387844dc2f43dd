namespace Freehold.Contract;

/// <summary>A stream whose asynchronous calls never end. It knows what the last one was given.</summary>
internal sealed class SlowStream : Stream
{
    private readonly TaskCompletionSource<int> _end = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public ReadOnlyMemory<byte> Given { get; private set; }
    public override bool CanRead => true;
    public override bool CanSeek => false;
    public override bool CanWrite => true;
    public override long Length => 0;
    public override long Position { get; set; }
    public override void Flush() { }
    public override int Read(byte[] buffer, int offset, int count) => 0;
    public override long Seek(long offset, SeekOrigin origin) => 0;
    public override void SetLength(long value) { }
    public override void Write(byte[] buffer, int offset, int count) { }
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) => await Wait(buffer);
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) => Wait(buffer.AsMemory(offset, count));
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) => await Wait(buffer);

    private Task<int> Wait(ReadOnlyMemory<byte> buffer)
    {
        Given = buffer;
        return _end.Task;
    }
}
