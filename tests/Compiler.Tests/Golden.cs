using System;
using System.IO;
using System.Linq;
using System.Reflection;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>Compares text with a file under Golden/, or under Golden/&lt;version&gt;/ where a version of the framework has one of its own. With FREEHOLD_UPDATE_GOLDEN=1 the file is written and the test fails, so that an update is never taken for a pass.</summary>
public static class Golden
{
    /// <summary>The value of an AssemblyMetadata attribute of this project.</summary>
    public static string Metadata(string key) =>
        typeof(Golden).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;

    /// <summary>Fails unless the text is what the golden file says.</summary>
    public static void Verify(string name, string actual, string version = "")
    {
        string directory = Metadata("GoldenDirectory");
        string path = Path.Combine(directory, version, name + ".il");
        if (version.Length != 0 && !File.Exists(path))
        {
            path = Path.Combine(directory, name + ".il");
        }

        if (Environment.GetEnvironmentVariable("FREEHOLD_UPDATE_GOLDEN") == "1")
        {
            File.WriteAllText(path, actual);
            Assert.Fail($"{path} was written: review it, then run without FREEHOLD_UPDATE_GOLDEN.");
        }

        Assert.Equal(File.ReadAllText(path), actual);
    }
}
