using System.Security.Cryptography;

namespace Freehold.Differential.Programs;

/// <summary>AES in several modes, whole and streamed.</summary>
internal static partial class Ciphers
{
    public static void Run()
    {
        byte[] data = new byte[150_001];
        new Random(11).NextBytes(data);
        byte[] key = data[100..132];
        byte[] iv = data[200..216];
        using Aes aes = Aes.Create();
        aes.Key = key;
        byte[] cbc = aes.EncryptCbc(data, iv);
        byte[] ecb = aes.EncryptEcb(data.AsSpan(0, 4_096), PaddingMode.None);
        byte[] cfb = aes.EncryptCfb(data, iv);
        foreach (byte[] encrypted in new[] { cbc, ecb, cfb })
        {
            var sum = new Checksum();
            sum.Add(encrypted);
            Console.WriteLine($"{encrypted.Length} {sum}");
        }
        Console.WriteLine(aes.DecryptCbc(cbc, iv).AsSpan().SequenceEqual(data) + " " + aes.DecryptCfb(cfb, iv).AsSpan().SequenceEqual(data));
        var output = new MemoryStream();
        aes.IV = iv;
        using (var stream = new CryptoStream(output, aes.CreateEncryptor(), CryptoStreamMode.Write, leaveOpen: true))
        {
            for (int i = 0; i < data.Length; i += 1_009)
                stream.Write(data, i, Math.Min(1_009, data.Length - i));
        }
        Console.WriteLine(output.ToArray().AsSpan().SequenceEqual(cbc));
        byte[] sealedText = new byte[5_000];
        byte[] tag = new byte[16];
        using (var gcm = new AesGcm(key, 16))
        {
            gcm.Encrypt(iv.AsSpan(0, 12), data.AsSpan(0, 5_000), sealedText, tag, "associated"u8);
            byte[] opened = new byte[5_000];
            gcm.Decrypt(iv.AsSpan(0, 12), sealedText, tag, opened, "associated"u8);
            Console.WriteLine(Convert.ToHexString(tag) + " " + opened.AsSpan().SequenceEqual(data.AsSpan(0, 5_000)));
            tag[3] ^= 1;
            try
            {
                gcm.Decrypt(iv.AsSpan(0, 12), sealedText, tag, opened, "associated"u8);
            }
            catch (AuthenticationTagMismatchException)
            {
                Console.WriteLine("tampered");
            }
        }
        cbc[^1] ^= 0x55;
        try
        {
            aes.DecryptCbc(cbc, iv);
            Console.WriteLine("padding accepted");
        }
        catch (CryptographicException)
        {
            Console.WriteLine("bad padding");
        }
    }
}
