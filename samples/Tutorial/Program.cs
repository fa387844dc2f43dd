// The program of docs/tutorial.md: one step for each section. `Tutorial lost`, `Tutorial deleted`, `Tutorial mistake`.
string step = args is [var only] ? only : "";
switch (step)
{
    case "lost":
        Read(deletes: false);
        Report();
        break;
    case "deleted":
        Read(deletes: true);
        Report();
        break;
    case "mistake":
        Reading reading = new(1, 21.5);
        var newest = new Newest(reading);
        Heap.Delete(reading);
        Console.WriteLine($"the newest reading is {newest.Reading.Celsius}");
        break;
    default:
        Console.Error.WriteLine($"error: no step is called '{step}'. Say lost, deleted or mistake.");
        return 2;
}

return 0;

// A day of readings, of which only the warmest of each batch is kept.
static void Read(bool deletes)
{
    var warmest = new List<Reading>();
    for (int batch = 0; batch < 10; batch++)
    {
        var readings = new Reading[1_000];
        for (int i = 0; i < readings.Length; i++)
            readings[i] = new Reading(i, 20 + i % 7);
        Reading best = readings[6];
        warmest.Add(best);
        if (!deletes)
            continue;
        foreach (Reading reading in readings)
        {
            if (reading != best)
                Heap.Delete(reading);
        }
        Heap.Delete(readings);
    }

    Console.WriteLine($"{warmest.Count} batches, the warmest reading {warmest[0].Celsius} degrees");
}

static void Report()
{
    foreach (UnreachableObjects lost in Heap.FindUnreachable())
    {
        if (lost.Bytes > 1_000)
            Console.WriteLine($"{lost.Count,6} {lost.Type.Name,-10} {lost.Bytes,8} bytes");
    }
    Console.WriteLine("that is all");
}

sealed class Reading(int sensor, double celsius)
{
    public int Sensor => sensor;

    public double Celsius => celsius;
}

sealed class Newest(Reading reading)
{
    public Reading Reading => reading;
}
