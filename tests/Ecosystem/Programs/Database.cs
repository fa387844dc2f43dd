using Microsoft.Data.Sqlite;

namespace Freehold.Differential.Programs;

/// <summary>SQLite: a native library that calls back into functions, aggregates and collations of the program.</summary>
internal static class Database
{
    public static void Run()
    {
        using var connection = new SqliteConnection("Data Source=:memory:");
        connection.Open();
        connection.CreateFunction("twice", (long value) => value * 2);
        connection.CreateFunction("refuse", (long value) => value > 10 ? throw new InvalidOperationException("more than ten") : value);
        connection.CreateAggregate("joined", "", (string text, string next) => text.Length > 60 ? text : text + next);
        connection.CreateCollation("backwards", (left, right) => string.CompareOrdinal(right, left));
        Execute(connection, "create table item(id integer primary key, name text collate backwards, data blob)");
        Fill(connection);

        using SqliteCommand query = connection.CreateCommand();
        query.CommandText = "select name, twice(count(*)), sum(length(data)), joined(name) from item group by name order by name limit 40";
        using (SqliteDataReader rows = query.ExecuteReader())
        {
            while (rows.Read())
                Console.WriteLine($"{rows.GetString(0)} {rows.GetInt64(1)} {rows.GetInt64(2)} {rows.GetString(3)}");
        }

        foreach (string wrong in new[] { "select nonsense", "select refuse(11)", "insert into item(id) values (1)" })
        {
            try
            {
                Execute(connection, wrong);
            }
            catch (SqliteException exception)
            {
                Console.WriteLine(exception.Message);
            }
        }

        using var blob = new SqliteBlob(connection, "item", "data", 20_000);
        byte[] content = new byte[blob.Length];
        blob.ReadExactly(content);
        Console.WriteLine($"{content.Length} {content.Sum(value => value)}");
    }

    private static void Fill(SqliteConnection connection)
    {
        using SqliteTransaction transaction = connection.BeginTransaction();
        using SqliteCommand insert = connection.CreateCommand();
        insert.CommandText = "insert into item(name, data) values ($name, $data)";
        SqliteParameter name = insert.Parameters.Add("$name", SqliteType.Text);
        SqliteParameter data = insert.Parameters.Add("$data", SqliteType.Blob);
        for (int i = 0; i < 30_000; i++)
        {
            byte[] bytes = new byte[i % 100];
            bytes.AsSpan().Fill((byte)i);
            name.Value = "name" + (i * 7919 % 500);
            data.Value = bytes;
            insert.ExecuteNonQuery();
            data.Value = null;
            Manual.Delete(bytes);
        }

        transaction.Commit();
    }

    private static void Execute(SqliteConnection connection, string text)
    {
        using SqliteCommand command = connection.CreateCommand();
        command.CommandText = text;
        command.ExecuteNonQuery();
    }
}
