namespace Freehold.Differential.Programs;

/// <summary>Shortest paths over a random graph with PriorityQueue.</summary>
internal static partial class PriorityQueues
{
    public static void Run()
    {
        const int nodes = 5_000;
        var random = new Random(3);
        var edges = new List<(int To, int Weight)>[nodes];
        for (int i = 0; i < nodes; i++)
        {
            edges[i] = [];
            for (int j = 0; j < 6; j++)
                edges[i].Add((random.Next(nodes), random.Next(1, 100)));
        }
        var sum = new Checksum();
        for (int source = 0; source < 3; source++)
        {
            int[] distance = new int[nodes];
            Array.Fill(distance, int.MaxValue);
            var queue = new PriorityQueue<int, int>();
            distance[source] = 0;
            queue.Enqueue(source, 0);
            while (queue.TryDequeue(out int node, out int length))
            {
                if (length > distance[node])
                    continue;
                foreach ((int to, int weight) in edges[node])
                {
                    if (length + weight >= distance[to])
                        continue;
                    distance[to] = length + weight;
                    queue.Enqueue(to, length + weight);
                }
            }
            foreach (int value in distance)
                sum.Add(value);
            Console.WriteLine($"{source}: {distance.Max()} {distance.Sum(value => (long)value)}");
        }
        Console.WriteLine(sum);
    }
}
