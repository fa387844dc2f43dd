using System;
using System.Buffers.Binary;
using System.IO;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using Mono.Cecil;
using MemberReference = System.Reflection.Metadata.MemberReference;
using ModuleDefinition = Mono.Cecil.ModuleDefinition;

namespace Freehold.Rewriter;

/// <summary>
/// Calls with <c>__arglist</c>. A compiler names the method of the same assembly by a member reference, which has the types of all arguments and whose parent is the method's
/// definition; Cecil makes the parent the declaring type, where ilc then looks for a method with just these arguments, and says that the file is damaged. NativeAOT refuses
/// the call in any case: with an <c>InvalidProgramException</c> that names the method, if the parent is the definition.
/// </summary>
internal static class VariableArgumentCalls
{
    private const int Sentinel = 0x41;

    // A coded index: the row, and in the lowest three bits the table (ECMA-335 II.24.2.6).
    private const int TableBits = 3, MethodDefinitionTag = 3;

    /// <summary>Corrects what was written from the module.</summary>
    public static void Restore(ModuleDefinition module, string path)
    {
        if (!module.GetMemberReferences().Any(member => member is Mono.Cecil.MethodReference { CallingConvention: MethodCallingConvention.VarArg, DeclaringType: Mono.Cecil.TypeDefinition }))
        {
            return;
        }

        byte[] image = File.ReadAllBytes(path);
        using PEReader file = new(new MemoryStream([.. image]));
        MetadataReader metadata = file.GetMetadataReader();
        int table = file.PEHeaders.MetadataStartOffset + metadata.GetTableMetadataOffset(TableIndex.MemberRef), row = metadata.GetTableRowSize(TableIndex.MemberRef);
        foreach (MemberReferenceHandle handle in metadata.MemberReferences)
        {
            MemberReference called = metadata.GetMemberReference(handle);
            byte[] signature = metadata.GetBlobBytes(called.Signature);
            if (called.Parent.Kind != HandleKind.TypeDefinition || new SignatureHeader(signature[0]).CallingConvention != SignatureCallingConvention.VarArgs)
            {
                continue;
            }

            MethodDefinitionHandle declared = metadata.GetTypeDefinition((TypeDefinitionHandle)called.Parent).GetMethods().FirstOrDefault(candidate => Declares(metadata, candidate, called, signature));
            if (!declared.IsNil)
            {
                // The parent is the first column; whether it has two bytes or four is the same for any parent.
                Span<byte> parent = image.AsSpan(table + ((metadata.GetRowNumber(handle) - 1) * row));
                int coded = (metadata.GetRowNumber(declared) << TableBits) | MethodDefinitionTag;
                if (HasWideParents(metadata))
                {
                    BinaryPrimitives.WriteInt32LittleEndian(parent, coded);
                }
                else
                {
                    BinaryPrimitives.WriteUInt16LittleEndian(parent, checked((ushort)coded));
                }
            }
        }

        File.WriteAllBytes(path, image);
    }

    private static bool HasWideParents(MetadataReader metadata) =>
        new[] { TableIndex.TypeDef, TableIndex.TypeRef, TableIndex.ModuleRef, TableIndex.MethodDef, TableIndex.TypeSpec }.Any(table => metadata.GetTableRowCount(table) >= 1 << (16 - TableBits));

    // header, number of parameters, return type and parameters; in the reference then a sentinel, and the other arguments.
    private static bool Declares(MetadataReader metadata, MethodDefinitionHandle candidate, MemberReference called, byte[] signature)
    {
        System.Reflection.Metadata.MethodDefinition method = metadata.GetMethodDefinition(candidate);
        byte[] declared = metadata.GetBlobBytes(method.Signature);
        if (metadata.GetString(method.Name) != metadata.GetString(called.Name) || declared[0] != signature[0])
        {
            return false;
        }

        ReadOnlySpan<byte> all = Types(signature), own = Types(declared);
        return all.StartsWith(own) && (all.Length == own.Length || all[own.Length] == Sentinel);
    }

    private static ReadOnlySpan<byte> Types(ReadOnlySpan<byte> signature) => signature[(signature[1] < 0x80 ? 2 : 3)..];
}
