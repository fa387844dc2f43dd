using System;
using System.Collections.Generic;
using Mono.Cecil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// The places of the framework where a managed pointer becomes a number that <see cref="NumberAudit"/> cannot tell to be harmless, each with the reason why
/// it is. All names of the members are here, of all versions of the framework that are supported. A test finds entries that none of them needs any more.
/// </summary>
public static class NumbersWithoutPin
{
    /// <summary>The reason of numbers for which the address at any moment does.</summary>
    public const string Moment = "a null test, or the alignment at this moment, which callers may use as no more than a hint";

    private const string Executable = "what it leads to is data of the executable";
    private const string CallersPin = "it is part of the contract of the method that the caller pins";
    private const string CallersPointers = "the spans are made of pointers that callers pin";
    private const string FixedInMethod = "a slice of a span that the method holds in a fixed statement";
    private const string HandlePins = "the handle pins it";
    private const string HandleBefore = "a pinned handle is made before; an array that claims to be pinned already is its maker's";
    private const string CallersBuffer = "the buffer that the caller gives is on its stack";
    private const string GeneratedPin = "the generated code around it pins what GetPinnableReference gives; else it is native memory or a buffer on the stack";
    private const string CurrentNow = "injected: the low bits are tested, what is read is pinned by the caller";

    // Declaring type and method.
    private static readonly Dictionary<string, string> s_members = new()
    {
        ["System.CrashInfo::WriteExceptionHelper"] = "the address is printed",
        ["System.Diagnostics.Tracing.EventSource::ObjectIDForEvents"] = "a number for an event, which need not be the same the next time",
        ["Internal.Runtime.CompilerHelpers.StartupCodeHelpers::InitializeStatics"] = "the objects that hold static fields are allocated as pinned ones, which never move",
        ["System.Memory`1::Pin"] = HandleBefore,
        ["System.ReadOnlyMemory`1::Pin"] = HandleBefore,
        ["System.Number/NumberBuffer::get_DigitsPtr"] = "the digits are on the stack, or in an array that the caller holds in a fixed statement",
        ["System.Runtime.InteropServices.GCHandle::AddrOfPinnedObject"] = HandlePins,
        ["System.Runtime.InteropServices.GCHandleExtensions::GetAddressOfArrayData"] = HandlePins,
        ["System.Runtime.InteropServices.GCHandleExtensions::GetAddressOfStringData"] = HandlePins,
        ["System.Runtime.InteropServices.PinnedGCHandle`1::GetAddressOfObjectData"] = HandlePins,
        ["System.Runtime.InteropServices.Marshal::UnsafeAddrOfPinnedArrayElement"] = CallersPin,
        ["System.Runtime.InteropServices.Marshalling.AnsiStringMarshaller/ManagedToUnmanagedIn::FromManaged"] = CallersBuffer,
        ["System.Runtime.InteropServices.Marshalling.BStrStringMarshaller/ManagedToUnmanagedIn::FromManaged"] = CallersBuffer,
        ["System.Runtime.InteropServices.Marshalling.Utf8StringMarshaller/ManagedToUnmanagedIn::FromManaged"] = CallersBuffer,
        ["System.Runtime.InteropServices.Marshalling.ArrayMarshaller`2/ManagedToUnmanagedIn::ToUnmanaged"] = GeneratedPin,
        ["System.Runtime.InteropServices.Marshalling.PointerArrayMarshaller`2/ManagedToUnmanagedIn::ToUnmanaged"] = GeneratedPin,
        ["System.Runtime.InteropServices.Marshalling.ReadOnlySpanMarshaller`2/ManagedToUnmanagedIn::ToUnmanaged"] = GeneratedPin,
        ["System.Runtime.InteropServices.Marshalling.SpanMarshaller`2/ManagedToUnmanagedIn::ToUnmanaged"] = GeneratedPin,
        ["System.Runtime.CompilerServices.Unsafe::IsNullRef"] = Moment,
        ["System.Runtime.CompilerServices.Unsafe::IsOpportunisticallyAligned"] = Moment,
        ["System.Runtime.CompilerServices.Unsafe::OpportunisticMisalignment"] = Moment,
        ["System.Runtime.CompilerServices.Unsafe::AsPointer"] = CallersPin,
        ["System.Text.Encoding::GetByteCountWithFallback"] = CallersPointers,
        ["System.Text.Encoding::GetBytesWithFallback"] = CallersPointers,
        ["System.Text.Encoding::GetCharCountWithFallback"] = CallersPointers,
        ["System.Text.Encoding::GetCharsWithFallback"] = CallersPointers,
        ["System.Text.Unicode.Utf8::FromUtf16"] = FixedInMethod,
        ["System.Text.Unicode.Utf8::ToUtf16"] = FixedInMethod,
        ["System.Text.Unicode.Utf8::ToUtf16PreservingReplacement"] = FixedInMethod,
        ["System.Runtime.FreeholdRuntime::TouchReference"] = CurrentNow,
    };

    // Types whose instances are never in the heap: what their methods make of this.
    private static readonly Dictionary<string, string> s_types = new()
    {
        ["Internal.Runtime.MethodTable"] = Executable,
        ["Internal.Runtime.DispatchMap"] = Executable,
        ["Internal.Runtime.RelativePointer"] = Executable,
        ["Internal.Runtime.RelativePointer`1"] = Executable,
        ["System.Threading.ThreadBlockingInfo"] = "it is a local of the method that blocks",
    };

    // Of ASP.NET Core, which a program gets as packages: what is in its assemblies nobody can change.
    private const string AspNetCore = "Microsoft.";
    private static readonly Dictionary<string, string> s_packages = new()
    {
        ["UnmanagedBufferAllocator::AllocAsPointer"] = "the buffers are native memory",
        ["UnmanagedBufferAllocator::GetHeaderEncodedBytes"] = "the buffers are native memory",
        ["Microsoft.Extensions.Logging.EventSource.LoggingEventSource::SetEventData"] = "it leads to a parameter of the caller, on the stack",
    };

    /// <summary>What the tables of the framework name: types, and members as <c>Type::Method</c>.</summary>
    public static IEnumerable<string> Entries => [.. s_members.Keys, .. s_types.Keys];

    /// <summary>The reason for a method; null when there is none.</summary>
    public static string? Of(AssemblyUnderRewrite assembly, MethodDefinition method)
    {
        string member = $"{method.DeclaringType.FullName}::{method.Name}";
        return assembly.Role == AssemblyRole.Application
            ? assembly.Name.StartsWith(AspNetCore, StringComparison.Ordinal) ? s_packages.GetValueOrDefault(member) : null
            : s_members.GetValueOrDefault(member) ?? OfType(assembly, method.DeclaringType);
    }

    /// <summary>The reason why no instance of a type of the framework is in the heap; null when there is none.</summary>
    public static string? OfType(AssemblyUnderRewrite assembly, TypeDefinition type) =>
        assembly.Role == AssemblyRole.Application ? null : s_types.GetValueOrDefault(type.FullName);
}
