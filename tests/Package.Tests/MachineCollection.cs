using Xunit;

namespace Freehold.Package.Tests;

/// <summary>All tests of a collection share one <see cref="PackageFixture"/> and run one after the other: the machine's folders are their subject. These look at programs.</summary>
[CollectionDefinition("machine")]
public sealed class MachineCollection : ICollectionFixture<PackageFixture>;

/// <summary>The same on a machine of its own, beside it: a publish leaves a processor idle for half of its time. These look at caches and errors.</summary>
[CollectionDefinition("second machine")]
public sealed class SecondMachineCollection : ICollectionFixture<PackageFixture>;
