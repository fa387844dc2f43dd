namespace System.Runtime.Importing;

/// <summary>A member that a type of CoreLib gets. It must not have one like it.</summary>
[AttributeUsage(AttributeTargets.Method | AttributeTargets.Constructor | AttributeTargets.Field | AttributeTargets.Class | AttributeTargets.Struct)]
internal sealed class InjectedAttribute : Attribute;
