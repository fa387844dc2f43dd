using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Objects that were locked, contended, hashed or watched before they are deleted.</summary>
internal static partial class DeleteLocked
{
    private sealed class Account(int balance)
    {
        public int Balance = balance;
    }

    public static void Run()
    {
        long total = 0;
        for (int i = 0; i < 60_000; i++)
        {
            var account = new Account(i);
            if (i % 2 == 0)
            {
                lock (account)
                    account.Balance++;
            }
            int hash = i % 3 == 0 ? RuntimeHelpers.GetHashCode(account) : 0;
            if (i % 5 == 0)
            {
                lock (account)
                {
                    lock (account)
                        account.Balance += 2;
                }
            }
            if (i % 3 == 0 && RuntimeHelpers.GetHashCode(account) != hash)
                throw new InvalidDataException("hash changed");
            total += account.Balance;
            Manual.Delete(account);
        }
        Console.WriteLine(total);
        var accounts = new Account[16];
        for (int round = 0; round < 20; round++)
        {
            for (int i = 0; i < accounts.Length; i++)
                accounts[i] = new Account(0);
            Parallel.For(0, 2_000, new ParallelOptions { MaxDegreeOfParallelism = 4 }, i =>
            {
                Account account = accounts[i % accounts.Length];
                lock (account)
                {
                    account.Balance++;
                    if (i % 100 == 0)
                        Monitor.Wait(account, 0);
                }
            });
            foreach (Account account in accounts)
            {
                total += account.Balance;
                Manual.Delete(account);
            }
        }
        Console.WriteLine(total);
        var table = new HashSet<object>(ReferenceEqualityComparer.Instance);
        var random = new Random(26);
        var order = new List<object>();
        for (int i = 0; i < 60_000; i++)
        {
            object value = new Account(i);
            table.Add(value);
            order.Add(value);
            if (order.Count > 500)
            {
                int index = random.Next(order.Count);
                object victim = order[index];
                order[index] = order[^1];
                order.RemoveAt(order.Count - 1);
                if (!table.Remove(victim))
                    throw new InvalidDataException("lost");
                total += ((Account)victim).Balance;
                Manual.Delete(victim);
            }
        }
        Console.WriteLine(total + " " + table.Count);
    }
}
