namespace System.Runtime.Importing;

/// <summary>A method of CoreLib that exists and gets this body, when a pass has seen that the old one is the expected one.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class ReplacementAttribute : Attribute;
