using System.Security.Cryptography;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Hashes, keyed hashes and key derivation, whole and incremental.</summary>
internal static partial class Hashing
{
    public static void Run()
    {
        byte[] data = new byte[200_000];
        new Random(10).NextBytes(data);
        Console.WriteLine(Convert.ToHexString(SHA256.HashData(data)));
        Console.WriteLine(Convert.ToHexString(SHA512.HashData(data)));
        Console.WriteLine(Convert.ToHexString(SHA1.HashData(data)));
        Console.WriteLine(Convert.ToHexString(MD5.HashData(data)));
        Console.WriteLine(Convert.ToHexString(HMACSHA256.HashData(data.AsSpan(0, 40), data)));
        using (IncrementalHash hash = IncrementalHash.CreateHMAC(HashAlgorithmName.SHA384, data.AsSpan(3, 77)))
        {
            for (int i = 0; i < data.Length; i += 1_237)
                hash.AppendData(data, i, Math.Min(1_237, data.Length - i));
            Console.WriteLine(Convert.ToHexString(hash.GetHashAndReset()));
        }
        var sum = new Checksum();
        for (int i = 0; i < 2_000; i++)
            sum.Add(SHA256.HashData(Encoding.UTF8.GetBytes("message " + i)));
        Console.WriteLine(sum);
        Console.WriteLine(Convert.ToHexString(Rfc2898DeriveBytes.Pbkdf2("password", data.AsSpan(0, 16), 5_000, HashAlgorithmName.SHA256, 32)));
        Console.WriteLine(Convert.ToHexString(HKDF.DeriveKey(HashAlgorithmName.SHA256, data[..32], 48, data[..8], data[8..16])));
        Console.WriteLine(CryptographicOperations.FixedTimeEquals(data.AsSpan(0, 99), data.AsSpan(0, 99)) + " " + RandomNumberGenerator.GetBytes(17).Length);
    }
}
