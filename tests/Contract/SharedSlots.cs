namespace Freehold.Contract;

/// <summary>Objects that every thread reads; whoever takes one out of its slot deletes it while others may still read it.</summary>
internal sealed class SharedSlots
{
    private readonly ModelNode?[] _nodes = new ModelNode?[256];
    private readonly string?[] _texts = new string?[256];

    public void Replace(Random random, int id)
    {
        int index = random.Next(_nodes.Length);
        if (id % 2 == 0)
            Heap.Delete(Interlocked.Exchange(ref _nodes[index], new ModelNode(id, id % 100)));
        else
            Heap.Delete(Interlocked.Exchange(ref _texts[index], new string((char)('a' + id % 26), id % 60 + 1)));
    }

    public void Read(Random random)
    {
        int index = random.Next(_nodes.Length);
        try
        {
            ModelNode? node = Volatile.Read(ref _nodes[index]);
            if (node is not null && (node.Check != (node.Id ^ (node.Version * 31)) || node.Id % 2 != 0 || node.Version != node.Id % 100))
                throw new ContractException($"a shared node holds {node.Id}, {node.Version}, {node.Check}");
            string? text = Volatile.Read(ref _texts[index]);
            if (text is not null && (text.Length is 0 or > 60 || text.AsSpan().ContainsAnyExcept(text[0]) || text[0] is < 'a' or > 'z'))
                throw new ContractException("a shared text holds " + text);
        }
        catch (DanglingReferenceException)
        {
        }
    }
}
