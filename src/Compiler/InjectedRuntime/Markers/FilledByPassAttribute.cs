namespace System.Runtime.Importing;

/// <summary>An injected method without a body: a pass moves one of the framework's into it.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class FilledByPassAttribute : Attribute;
