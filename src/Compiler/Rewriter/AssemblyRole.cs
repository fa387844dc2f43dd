namespace Freehold.Rewriter;

/// <summary>What an assembly is to the program; decides which passes see it.</summary>
public enum AssemblyRole
{
    /// <summary>System.Private.CoreLib.</summary>
    CoreLib,

    /// <summary>Another assembly of the framework.</summary>
    Framework,

    /// <summary>The application or a library it brings.</summary>
    Application,
}
