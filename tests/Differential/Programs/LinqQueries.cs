namespace Freehold.Differential.Programs;

/// <summary>Filtering, joining, ordering and grouping of objects.</summary>
internal static partial class LinqQueries
{
    private sealed record Customer(int Id, string Name, string City);

    private sealed record Order(int Id, int Customer, decimal Amount, DateOnly Day);

    public static void Run()
    {
        var random = new Random(4);
        Customer[] customers = [.. Enumerable.Range(0, 500).Select(i => new Customer(i, "Customer " + i, "City" + i % 17))];
        Order[] orders = [.. Enumerable.Range(0, 20_000).Select(i => new Order(i, random.Next(600), random.Next(1, 100_000) / 100m, new DateOnly(2020, 1, 1).AddDays(random.Next(900))))];
        var byCity = from order in orders
                     join customer in customers on order.Customer equals customer.Id
                     group order by customer.City into city
                     orderby city.Sum(order => order.Amount) descending, city.Key
                     select new { City = city.Key, Count = city.Count(), Total = city.Sum(order => order.Amount), Last = city.Max(order => order.Day) };
        foreach (var row in byCity.Take(8))
            Console.WriteLine($"{row.City} {row.Count} {row.Total} {row.Last:yyyy-MM-dd}");
        var lookup = orders.ToLookup(order => order.Day.Month);
        foreach (IGrouping<int, Order> month in lookup.OrderBy(group => group.Key))
            Console.WriteLine($"{month.Key} {month.Count()} {month.Average(order => order.Amount):F4}");
        var left = customers.GroupJoin(orders, customer => customer.Id, order => order.Customer, (customer, mine) => (customer.Name, Sum: mine.Sum(order => order.Amount)));
        Console.WriteLine(left.OrderByDescending(row => row.Sum).ThenBy(row => row.Name, StringComparer.Ordinal).First());
        Console.WriteLine(string.Join(',', orders.Chunk(1_999).Select(chunk => chunk.Length)));
        Console.WriteLine(orders.DistinctBy(order => order.Day).Count() + " " + orders.SelectMany(order => new[] { order.Id, order.Customer }).Aggregate(0L, (a, b) => a * 31 + b));
        Console.WriteLine(string.Join(' ', orders.Zip(customers, (order, customer) => order.Id ^ customer.Id).Where(x => x % 5 == 0).Take(12)));
        foreach (var pair in orders.CountBy(order => order.Amount > 500).OrderBy(pair => pair.Key))
            Console.WriteLine(pair);
    }
}
