using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace System;

/// <summary><c>FREEHOLD_DIAGNOSTICS=1</c>: a thread that answers the tool `freehold`. The native half (diag/diagnostic_socket.h) has the socket, and lets only requests through that are right.</summary>
internal static class DiagnosticServer
{
    // diag::Command.
    private const int None = 0;
    private const int Stat = 1;
    private const int Leaks = 2;
    private const int Verify = 3;
    private const int Dump = 4;
    private const int DumpAnyway = 5;

    // diag::Status.
    private const int Done = 0;
    private const int UnknownCommand = 3;
    private const int Failed = 4;

    // Of an answer: of many types and places those with the most bytes.
    private const int MostTypes = 1_000;
    private const int MostSites = 20;

    // Of the one answer that is under way, on the thread that answers.
    private static unsafe byte* s_text;
    private static int s_length;

    /// <summary>Before anything of the program runs, so that whoever has seen the program can ask it.</summary>
    [ModuleInitializer]
    [SuppressMessage("Usage", "CA2255:The 'ModuleInitializer' attribute should not be used in libraries", Justification = "The setting is enough; the program need not call the library for it.")]
    internal static void Initialize()
    {
        if (!Heap.IsManual || NativeHeap.OpenDiagnostics() == 0)
        {
            return;
        }

        try
        {
            new Thread(Run) { IsBackground = true, Name = "Freehold diagnostics" }.Start();
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            // There are no threads, or there is no memory: no reason to end a program that somebody may want to look into.
            NativeHeap.CloseDiagnostics();
            Telemetry.SayThatThereIsNone("a thread that answers FREEHOLD_DIAGNOSTICS");
        }
    }

    private static void Run()
    {
        for (int command = NativeHeap.NextRequest(); command != None; command = NativeHeap.NextRequest())
        {
            try
            {
                if (command is Dump or DumpAnyway)
                {
                    if (HeapDump.Answer(command == DumpAnyway) is { } reason)
                    {
                        Reply(Failed, reason);
                    }

                    continue;
                }

                // What an answer is made of is not the program's. It is sent when the scope has ended: a client that does not read must not keep it open.
                int status;
                using (Heap.Scope())
                {
                    byte[] text = Answer(command, out status);
                    Keep(text);
                }

                Send(status);
            }
            catch (Exception exception) when (exception is OutOfMemoryException or InsufficientMemoryException)
            {
                Reply(Failed, "The process has no memory left for an answer."u8);
            }
        }
    }

    [SuppressMessage("Design", "CA1031:Do not catch general exception types", Justification = "Whatever a question comes to, the process goes on.")]
    private static byte[] Answer(int command, out int status)
    {
        byte[] text;
        status = Done;
        try
        {
            switch (command)
            {
                case Stat:
                    text = DescribeFigures();
                    break;
                case Leaks:
                    text = DescribeLeaks();
                    break;
                case Verify:
                    text = DescribeInvariants();
                    break;
                default:
                    status = UnknownCommand;
                    text = Encoding.UTF8.GetBytes("The process does not know this command.");
                    break;
            }
        }
        catch (Exception exception) when (exception is not (OutOfMemoryException or InsufficientMemoryException))
        {
            status = Failed;
            text = Encoding.UTF8.GetBytes($"The process could not answer: {exception.Message}");
        }

        return text;
    }

    private static unsafe void Keep(ReadOnlySpan<byte> text)
    {
        s_text = (byte*)NativeMemory.Alloc((nuint)Math.Max(text.Length, 1));
        s_length = text.Length;
        text.CopyTo(new Span<byte>(s_text, text.Length));
    }

    private static unsafe void Send(int status)
    {
        byte* text = s_text;
        NativeHeap.AnswerRequest(status, text, s_length);
        NativeMemory.Free(text);
    }

    private static unsafe void Reply(int status, ReadOnlySpan<byte> text)
    {
        fixed (byte* start = text)
        {
            NativeHeap.AnswerRequest(status, start, text.Length);
        }
    }

    private static unsafe byte[] DescribeFigures()
    {
        ulong* values = stackalloc ulong[HeapStatistics.All];
        HeapStatistics.Fill(values);
        var all = new ReadOnlySpan<ulong>(values, HeapStatistics.All);
        JsonText json = Begin().Name("heldUpBy").Value(new HeapStatistics(all).HeldUpBy.Trim()).Name("figures").Begin('[');
        Add(json, "", FigureRows.Heap, all);
        Add(json, "Native.", FigureRows.Native, all[HeapStatistics.Count..]);
        Add(json, "Handles.", FigureRows.Handles, all[(HeapStatistics.Count + NativeHeapStatistics.Count)..]);
        return json.End(']').End('}').ToBytes();
    }

    private static void Add(JsonText json, string prefix, FigureRow[] rows, ReadOnlySpan<ulong> values)
    {
        for (int i = 0; i < rows.Length; i++)
        {
            if (rows[i].Name.Length != 0)
            {
                string unit = rows[i].Unit switch { FigureUnit.Bytes => "bytes", FigureUnit.Nanoseconds => "nanoseconds", FigureUnit.Flag => "flag", _ => "count" };
                json.Begin('{').Name("name").Value(prefix + rows[i].Name).Name("unit").Value(unit).Name("total").Value(rows[i].Grows).Name("value").Value((long)values[i]).End('}');
            }
        }
    }

    private static byte[] DescribeLeaks()
    {
        LeakReport report = LeakReport.Find();
        JsonText json = Begin().Name("reports").Value(NativeHeap.ReportsLeaks() != 0).Name("count").Value(report.Count).Name("bytes").Value(report.Bytes).Name("leaks").Begin('[');
        for (int i = 0; i < report.Leaks.Count && i < MostTypes; i++)
        {
            Leak leak = report.Leaks[i];
            json.Begin('{').Name("type").Value(leak.Type.ToString()).Name("count").Value(leak.Count).Name("bytes").Value(leak.Bytes).Name("sites").Begin('[');
            for (int j = 0; j < leak.Sites.Count && j < MostSites; j++)
            {
                LeakSite site = leak.Sites[j];
                json.Begin('{').Name("count").Value(site.Count).Name("bytes").Value(site.Bytes).Name("samples").Value(site.Samples).Name("stack").Value(site.StackTrace).End('}');
            }

            json.End(']').End('}');
        }

        return json.End(']').End('}').ToBytes();
    }

    private static byte[] DescribeInvariants()
    {
        long violations = Heap.CountViolations(out string first);
        return Begin().Name("violations").Value(violations).Name("first").Value(first).End('}').ToBytes();
    }

    private static JsonText Begin() => new JsonText().Begin('{').Name("process").Value(Environment.ProcessId).Name("version").Value(typeof(Heap).Assembly.GetName().Version?.ToString(3) ?? "");
}
