using Freehold.Site;

// Stage ROOT OUTPUT REPORT
//   ROOT    the repository
//   OUTPUT  a folder that is made anew: the pages with the paths that they have in the repository, and toc.yml
//   REPORT  a folder with report.html of ./build.sh bench, which may be missing
if (args.Length != 3)
{
    Console.Error.WriteLine("usage: Stage ROOT OUTPUT REPORT");
    return 2;
}

try
{
    var files = new PageFiles(Path.GetFullPath(args[0]));
    var staging = new Staging(files, Path.GetFullPath(args[1]), Path.GetFullPath(args[2]));
    staging.Write();
    Console.WriteLine($"{staging.PageCount} pages in {args[1]}");
    return 0;
}
catch (SiteException e)
{
    Console.Error.WriteLine("error: " + e.Message);
    return 1;
}
