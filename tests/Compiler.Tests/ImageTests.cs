using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Text.Json;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>The files that the rewriter writes, read as ilc reads them.</summary>
public sealed class ImageTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-image").FullName;

    /// <inheritdoc/>
    public void Dispose() => Directory.Delete(_root, recursive: true);

    /// <summary>ilc reads the row that a flag promises, and fails where there is none.</summary>
    [Fact]
    public void Flags_of_parameters_have_their_rows()
    {
        using PEReader image = Rewrite(typeof(NativeCalls).Assembly.Location);
        MetadataReader metadata = image.GetMetadataReader();
        int marshalled = 0, defaults = 0;
        foreach (MethodDefinitionHandle handle in metadata.MethodDefinitions)
        {
            foreach (Parameter parameter in metadata.GetMethodDefinition(handle).GetParameters().Select(metadata.GetParameter))
            {
                Assert.Equal(parameter.Attributes.HasFlag(ParameterAttributes.HasFieldMarshal), !parameter.GetMarshallingDescriptor().IsNil);
                Assert.Equal(parameter.Attributes.HasFlag(ParameterAttributes.HasDefault), !parameter.GetDefaultValue().IsNil);
                marshalled += parameter.GetMarshallingDescriptor().IsNil ? 0 : 1;
                defaults += parameter.GetDefaultValue().IsNil ? 0 : 1;
            }
        }

        // Three of the native methods, four of the delegate NativeDelegates.Marked (Invoke and BeginInvoke); two of the one that callers see.
        Assert.Equal((7, 2), (marshalled, defaults));
    }

    [Fact]
    public void What_was_compiled_ahead_becomes_plain_IL()
    {
        string input = typeof(JsonSerializer).Assembly.Location;
        using (PEReader compiled = new(File.OpenRead(input)))
        {
            Assert.NotEqual(0, compiled.PEHeaders.CorHeader!.ManagedNativeHeaderDirectory.Size);
        }

        using PEReader image = Rewrite(input);
        Assert.Equal(CorFlags.ILOnly, image.PEHeaders.CorHeader!.Flags & (CorFlags.ILOnly | CorFlags.ILLibrary));
        Assert.Equal(0, image.PEHeaders.CorHeader.ManagedNativeHeaderDirectory.Size);
        Assert.Equal(Machine.I386, image.PEHeaders.CoffHeader.Machine);
    }

    /// <summary>C++/CLI: neither ilc nor Cecil can do anything with its native code.</summary>
    [Fact]
    public void Native_code_beside_IL_is_an_error()
    {
        string mixed = Damage((image, bytes) => bytes[image.PEHeaders.CorHeaderStartOffset + 16] &= unchecked((byte)~CorFlags.ILOnly));
        string output = Path.Combine(_root, "mixed-out.dll");
        using AssemblyRewriter rewriter = new([Path.GetDirectoryName(typeof(object).Assembly.Location)!]);
        RewriteException error = Assert.Throws<RewriteException>(() => rewriter.Rewrite(mixed, output, AssemblyRole.Application));
        Assert.Contains("C++/CLI", error.Message);
        Assert.False(File.Exists(output));
    }

    /// <summary>An error like any other, whatever Cecil throws when it meets code that is none.</summary>
    [Fact]
    public void Code_that_cannot_be_read_is_an_error()
    {
        string damaged = Damage((image, bytes) =>
        {
            MetadataReader metadata = image.GetMetadataReader();
            MethodDefinition method = metadata.MethodDefinitions.Select(metadata.GetMethodDefinition)
                .First(method => metadata.GetString(method.Name) == nameof(Pins.Array) && method.RelativeVirtualAddress != 0);
            SectionHeader section = image.PEHeaders.SectionHeaders[image.PEHeaders.GetContainingSectionIndex(method.RelativeVirtualAddress)];
            int body = method.RelativeVirtualAddress - section.VirtualAddress + section.PointerToRawData;
            Assert.Equal(3, bytes[body] & 3);  // a fat header (ECMA-335, II.25.4.3): 12 bytes, then the code
            bytes.AsSpan(body + 12, image.GetMethodBody(method.RelativeVirtualAddress).GetILReader().Length).Fill(0xFE);
        });
        Assert.Equal(1, Program.Main(["--application", damaged, "--output", Path.Combine(_root, "out.dll")]));
        Assert.Equal([damaged], Directory.GetFileSystemEntries(_root));
    }

    /// <summary>What one process rewrites together is what it would be alone: it knows the assemblies by what they were, not by what they became.</summary>
    [Fact]
    public void Together_is_as_alone()
    {
        string[] inputs = [typeof(NativeCalls).Assembly.Location, typeof(Program).Assembly.Location, typeof(ImageTests).Assembly.Location];
        string[] alone = [.. inputs.Select(input => Path.Combine(_root, "alone", Path.GetFileName(input)))];
        string[] together = [.. inputs.Select(input => Path.Combine(_root, "together", Path.GetFileName(input)))];
        Directory.CreateDirectory(Path.Combine(_root, "alone"));
        Directory.CreateDirectory(Path.Combine(_root, "together"));
        string[] framework = ["--reference", Path.GetDirectoryName(typeof(object).Assembly.Location)!];
        foreach ((string input, string output) in inputs.Zip(alone))
        {
            Assert.Equal(0, Program.Main(["--application", input, "--output", output, .. framework]));
        }

        Assert.Equal(0, Program.Main([.. inputs.Zip(together).SelectMany(pair => new[] { "--application", pair.First, "--output", pair.Second }), .. framework]));
        foreach ((string one, string other) in alone.Zip(together))
        {
            Assert.Equal(File.ReadAllBytes(one), File.ReadAllBytes(other));
        }
    }

    private string Damage(Action<PEReader, byte[]> damage)
    {
        byte[] bytes = File.ReadAllBytes(typeof(NativeCalls).Assembly.Location);
        using (PEReader image = new(new MemoryStream(bytes.ToArray())))
        {
            damage(image, bytes);
        }

        string path = Path.Combine(_root, "damaged.dll");
        File.WriteAllBytes(path, bytes);
        return path;
    }

    private PEReader Rewrite(string input)
    {
        string output = Path.Combine(_root, Path.GetFileName(input));
        Assert.Equal(0, Program.Main(["--application", input, "--output", output, "--reference", Path.GetDirectoryName(typeof(object).Assembly.Location)!]));
        return new PEReader(File.OpenRead(output));
    }
}
