using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.Build.Framework;

namespace Freehold.Tasks;

/// <summary>A file in C or C++ that the publish compiles: an item FreeholdNativeSource.</summary>
/// <param name="Path">The file, with its whole path.</param>
/// <param name="Library">The name by which <c>DllImport</c> reaches its functions.</param>
/// <param name="Handles">It is compiled with handles.</param>
/// <param name="Options">More options of the compiler.</param>
internal sealed record NativeSource(string Path, string Library, bool Handles, IReadOnlyList<string> Options)
{
    /// <summary>It is C++.</summary>
    public bool IsCxx => !Path.EndsWith(".c", StringComparison.Ordinal);

    /// <summary>Reads items, and refuses those that say something else than what they may.</summary>
    /// <param name="items">The items.</param>
    /// <param name="library">The library of those that name none.</param>
    /// <param name="handles">Handles are compiled at all.</param>
    public static NativeSource[] Read(IEnumerable<ITaskItem> items, string library, bool handles)
    {
        NativeSource[] all = [.. items.Select(item => Read(item, library, handles))];
        NativeSource? twice = all.GroupBy(source => (source.Path, source.Library)).FirstOrDefault(group => group.Count() > 1)?.First();
        if (twice is not null)
        {
            throw Malformed(twice.Path, $"is there twice for the library '{twice.Library}', and its functions would be defined twice. Exclude it from one of the two patterns.");
        }

        // The linker keeps one copy of each inline function and template, of either kind: the other kind's code would call it.
        NativeSource? mixed = all.Where(source => source.IsCxx).GroupBy(source => source.Library).FirstOrDefault(group => group.Select(source => source.Handles).Distinct().Count() > 1)?.First(source => source.Handles);
        if (mixed is not null)
        {
            throw Malformed(mixed.Path, $"is C++ with handles in the library '{mixed.Library}', which has C++ without: they would share inline functions. Set Library=\"…\" to another one.");
        }

        return all;
    }

    /// <summary>Words with spaces between them; spaces between double quotes belong to a word.</summary>
    public static IReadOnlyList<string> Split(string text)
    {
        var words = new List<string>();
        var word = new StringBuilder();
        bool quoted = false, any = false;
        foreach (char letter in text)
        {
            if (letter == '"')
            {
                quoted = !quoted;
                any = true;
            }
            else if (!quoted && char.IsWhiteSpace(letter))
            {
                End();
            }
            else
            {
                word.Append(letter);
                any = true;
            }
        }

        End();
        return words;

        void End()
        {
            if (any)
            {
                words.Add(word.ToString());
            }

            word.Clear();
            any = false;
        }
    }

    /// <summary>The files whose words the compiler takes as options: <c>@file</c>. It does not name them among what it read.</summary>
    public static IEnumerable<string> ResponseFiles(IEnumerable<string> options) => options.Where(option => option.Length > 1 && option[0] == '@').Select(option => option[1..]);

    private static NativeSource Read(ITaskItem item, string library, bool handles)
    {
        string path = item.GetMetadata("FullPath"), wanted = item.GetMetadata("Handles"), name = item.GetMetadata("Library");
        if (System.IO.Path.GetExtension(path) is not (".c" or ".cc" or ".cpp" or ".cxx"))
        {
            throw Malformed(item.ItemSpec, "is no source in C or C++. Files that end with .c, .cc, .cpp or .cxx are compiled; headers need no item.");
        }

        if (!File.Exists(path))
        {
            throw Malformed(item.ItemSpec, $"is not there ({path}). Correct the path in the project file.");
        }

        bool asked = wanted.Equals("true", StringComparison.OrdinalIgnoreCase);
        if (!asked && wanted.Length != 0 && !wanted.Equals("false", StringComparison.OrdinalIgnoreCase))
        {
            throw Malformed(item.ItemSpec, $"has Handles=\"{wanted}\", which is neither true nor false. Correct it in the project file.");
        }

        name = name.Length == 0 ? library : name;
        if (name.Length == 0 || !name.All(letter => char.IsAsciiLetterOrDigit(letter) || letter is '_' or '-' or '.') || name[0] is '-' or '.')
        {
            throw Malformed(item.ItemSpec, $"is for the library '{name}', which is no name of letters, digits, '_', '-' and '.'. Set Library=\"…\" to one.");
        }

        return new NativeSource(path, name, handles && asked, Split(item.GetMetadata("Options")));
    }

    private static FreeholdException Malformed(string item, string text) => new("FH0017", $"The FreeholdNativeSource '{item}' {text}");
}
