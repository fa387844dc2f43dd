using Xunit;

namespace Freehold.Package.Tests;

/// <summary>All tests share one <see cref="PackageFixture"/> and run one after the other: the machine's folders are their subject.</summary>
[CollectionDefinition("machine", DisableParallelization = true)]
public sealed class MachineCollection : ICollectionFixture<PackageFixture>;
