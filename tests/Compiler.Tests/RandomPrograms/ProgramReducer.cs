using System;
using System.Collections.Generic;
using System.Linq;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>Makes a program that fails smaller: lines and blocks are left out as long as it still fails.</summary>
internal static class ProgramReducer
{
    /// <summary>The smaller text.</summary>
    public static string Reduce(string text, Func<string, bool> fails)
    {
        List<string> lines = [.. text.Split('\n')];
        for (int size = Math.Max(lines.Count / 4, 1); size > 0; size = size == 1 ? 0 : size / 2)
        {
            bool again = true;
            while (again)
            {
                again = LeaveOutLines(ref lines, size, fails) | LeaveOutBlocks(ref lines, fails);
                again &= size == 1;
            }
        }

        return string.Join('\n', lines);
    }

    private static bool LeaveOutLines(ref List<string> lines, int size, Func<string, bool> fails)
    {
        bool smaller = false;
        for (int i = 0; i < lines.Count;)
        {
            List<string> rest = [.. lines.Take(i), .. lines.Skip(i + size)];
            if (lines.Skip(i).Take(Math.Min(size, 2)).All(line => !EndsRecursion(line)) && fails(string.Join('\n', rest)))
            {
                lines = rest;
                smaller = true;
            }
            else
            {
                i += size;
            }
        }

        return smaller;
    }

    // Without its first line a method may call itself for ever. With what stands before that, the method goes.
    private static bool EndsRecursion(string line) => line.Contains("!Support.Step()", StringComparison.Ordinal);

    // With its head, or only the head and the braces.
    private static bool LeaveOutBlocks(ref List<string> lines, Func<string, bool> fails)
    {
        bool smaller = false;
        for (int i = 1; i < lines.Count; i++)
        {
            if (lines[i].Trim() != "{")
            {
                continue;
            }

            string end = new string(' ', lines[i].IndexOf('{')) + "}";
            int last = lines.FindIndex(i, line => line.StartsWith(end, StringComparison.Ordinal));
            if (last < 0)
            {
                continue;
            }

            List<string> before = [.. lines.Take(i - 1)], inside = [.. lines.Skip(i + 1).Take(last - i - 1)], after = [.. lines.Skip(last + 1)];
            foreach (List<string> rest in new List<string>[] { [.. before, .. after], [.. before, .. inside, .. after] })
            {
                if (fails(string.Join('\n', rest)))
                {
                    lines = rest;
                    smaller = true;
                    i--;
                    break;
                }
            }
        }

        return smaller;
    }
}
