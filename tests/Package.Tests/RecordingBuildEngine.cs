using System.Collections;
using System.Collections.Generic;
using Microsoft.Build.Framework;

namespace Freehold.Package.Tests;

/// <summary>A build that remembers the ids and the messages of its errors, and the ids of its warnings.</summary>
internal sealed class RecordingBuildEngine : IBuildEngine
{
    public List<string> Errors { get; } = [];

    public List<string> Messages { get; } = [];

    public List<string> Warnings { get; } = [];

    public bool ContinueOnError => false;

    public int LineNumberOfTaskNode => 0;

    public int ColumnNumberOfTaskNode => 0;

    public string ProjectFileOfTaskNode => "";

    public bool BuildProjectFile(string projectFileName, string[] targetNames, IDictionary globalProperties, IDictionary targetOutputs) => false;

    public void LogCustomEvent(CustomBuildEventArgs e)
    {
    }

    public void LogErrorEvent(BuildErrorEventArgs e)
    {
        Errors.Add(e.Code);
        Messages.Add(e.Message ?? "");
    }

    public void LogMessageEvent(BuildMessageEventArgs e)
    {
    }

    public void LogWarningEvent(BuildWarningEventArgs e) => Warnings.Add(e.Code);
}
