using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using Freehold.Rewriter.Passes;

namespace Freehold.Rewriter;

/// <summary>The passes in the order in which they run, and the identity of the whole set.</summary>
public static class PassManifest
{
    // TouchBeforePin is behind the others: it also covers pinned locals in what they inject. NumberAudit looks at the result of all.
    /// <summary>All passes, in order.</summary>
    public static IReadOnlyList<IRewritePass> Passes { get; } =
    [
        new ExceptionMapping(),
        new HandleReads(),
        new SyncEntry(),
        new OwnedParts(),
        new OutgrownArrays(),
        new SharedObjects(),
        new BlockingImports(),
        new BlockMoves(),
        new StringHashes(),
        new ReferencesForPointers(),
        new LockEntries(),
        new NativeCallPins(),
        new NativeDelegatePins(),
        new ReflectedCallPins(),
        new TypeIdentity(),
        new BoxedContents(),
        new ObjectIdentity(),
        new ReferenceComparisons(),
        new CurrentPointers(),
        new CompareExchange(),
        new TouchBeforePin(),
        new NumberAudit(),
    ];

    /// <summary>Names the output of this build of the tool: the same id means the same output for the same input and the same names.</summary>
    public static string PatchSetId
    {
        get
        {
            using IncrementalHash hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
            hash.AppendData(File.ReadAllBytes(typeof(PassManifest).Assembly.Location));
            hash.AppendData(File.ReadAllBytes(typeof(Mono.Cecil.ModuleDefinition).Assembly.Location));
            hash.AppendData(Encoding.UTF8.GetBytes(string.Join(';', Passes.Select(pass => $"{pass.Name}={pass.Version}"))));
            return Convert.ToHexStringLower(hash.GetHashAndReset())[..16];
        }
    }
}
