namespace Freehold.Tool.Doctor;

/// <summary>How much a finding matters.</summary>
internal enum Severity
{
    Good,

    /// <summary>Worth knowing, nothing to do.</summary>
    Note,

    /// <summary>It works, slower or with less.</summary>
    Warning,

    /// <summary>Something does not work.</summary>
    Problem,
}

/// <summary>What a check has found.</summary>
/// <param name="Severity">How much it matters.</param>
/// <param name="Subject">What was looked at.</param>
/// <param name="Message">What it is like.</param>
/// <param name="Cure">What to do; null where there is nothing to cure.</param>
internal sealed record Finding(Severity Severity, string Subject, string Message, string? Cure = null)
{
    public static Finding Good(string subject, string message) => new(Severity.Good, subject, message);

    public static Finding Note(string subject, string message) => new(Severity.Note, subject, message);

    public static Finding Warning(string subject, string message, string cure) => new(Severity.Warning, subject, message, cure);

    public static Finding Problem(string subject, string message, string cure) => new(Severity.Problem, subject, message, cure);
}
