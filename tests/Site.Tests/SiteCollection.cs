namespace Freehold.Site.Tests;

/// <summary>Tests of the one site that is built.</summary>
[CollectionDefinition(Name)]
public sealed class SiteCollection : ICollectionFixture<BuiltSite>
{
    public const string Name = "site";
}
