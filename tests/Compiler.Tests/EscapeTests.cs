using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using Freehold.Compiler.Fixtures;
using Freehold.Rewriter;
using Freehold.Rewriter.Escape;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>The analysis of escapes, over the methods of the fixture and the framework that these call.</summary>
public sealed class EscapeTests : IClassFixture<EscapeTests.World>
{
    private readonly World _world;

    /// <summary>Shares what was read.</summary>
    public EscapeTests(World world) => _world = world;

    public static IEnumerable<object[]> Rules => Enum.GetValues<EscapeRule>().Select(rule => new object[] { rule });

    [Fact]
    public void An_argument_goes_where_it_may()
    {
        Answers answers = _world.Analyse(null);
        Assert.All(answers.Expected, expected => Assert.Equal($"{expected.Key}: {expected.Value}", $"{expected.Key}: {answers.Goes[expected.Key]}"));
    }

    [Fact]
    public void An_object_is_deleted_where_nobody_uses_it_any_more() => Golden.Verify("Escapes.plan", _world.Analyse(null).Plans);

    [Theory]
    [InlineData(nameof(Escapes.EachTurn))]
    [InlineData(nameof(Escapes.OnOnePath))]
    [InlineData(nameof(Escapes.Concatenated))]
    [InlineData(nameof(Escapes.UsedInFinally))]
    [InlineData(nameof(Escapes.ToArrayOfList))]
    [InlineData(nameof(Escapes.NextTurn))]
    public void An_application_gets_the_deletions(string method) =>
        Golden.Verify($"Escapes.{method}", IlText.Format(_world.Rewritten.GetType(typeof(Escapes).FullName).Methods.Single(candidate => candidate.Name == method)));

    [Fact]
    public void Unless_it_asks_for_them_an_application_gets_none()
    {
        using ModuleDefinition module = World.Rewrite("without");
        Assert.DoesNotContain(module.AssemblyReferences, reference => reference.Name == "Freehold");
    }

    [Theory]
    [MemberData(nameof(Rules))]
    public void Without_a_rule_an_answer_is_wrong(EscapeRule rule)
    {
        Answers right = _world.Analyse(null), wrong = _world.Analyse(rule);
        Assert.False(right.Plans == wrong.Plans && right.Goes.All(answer => wrong.Goes[answer.Key] == answer.Value), $"{rule} changes no answer: a method of the fixture that needs it is missing.");
    }

    /// <summary>As Visual Basic may write it: a class implements a method of an interface under another name, and a class below overrides that.</summary>
    [Theory]
    [InlineData(nameof(Escapes.KeptUnderAnotherName))]
    [InlineData(nameof(Escapes.KeptByExactType))]
    public void An_override_of_a_renamed_implementation_is_followed(string name)
    {
        string renamed = World.Renamed(nameof(Escapes.Keeper), nameof(Escapes.IKeeper.Keep), "Put", nameof(Escapes.DerivedKeeper));
        using ClosedWorld world = new([World.Sdk, World.Assemblies], renamed);
        string goes = "";
        AutoDeletion.OnDeepStack(() => goes = MethodSummary.Describe(new SummaryTable(world).Of(world.Read(renamed).GetType(typeof(Escapes).FullName).Methods.Single(method => method.Name == name)).Objects[0]));
        Assert.Equal("escapes", goes);
    }

    /// <summary>What the analysis says.</summary>
    /// <param name="Expected">Where first arguments go, as the fixture says.</param>
    /// <param name="Goes">Where they go.</param>
    /// <param name="Plans">Where objects are deleted.</param>
    public sealed record Answers(Dictionary<string, string> Expected, Dictionary<string, string> Goes, string Plans);

    /// <summary>The fixture and the framework, read once.</summary>
    public sealed class World : IDisposable
    {
        private static readonly MainFramework s_framework = new();
        private readonly ClosedWorld _world = new([Sdk, Assemblies], typeof(Escapes).Assembly.Location);
        private static readonly string s_root = System.IO.Directory.CreateTempSubdirectory("freehold-escape").FullName;
        private Answers? _right;
        private ModuleDefinition? _rewritten;

        /// <summary>Of the rewritten framework, which a publish analyses.</summary>
        public static string Sdk => System.IO.Path.Combine(s_framework.Output, "sdk");

        /// <summary>Its other assemblies.</summary>
        public static string Assemblies => System.IO.Path.Combine(s_framework.Output, "framework");

        /// <summary>The fixture with deletions.</summary>
        public ModuleDefinition Rewritten => _rewritten ??= Rewrite("with", "--auto-delete", "--reference", Sdk, "--reference", Assemblies);

        /// <inheritdoc/>
        public void Dispose()
        {
            _world.Dispose();
            _rewritten?.Dispose();
            System.IO.Directory.Delete(s_root, recursive: true);
        }

        /// <summary>Rewrites the fixture as a publish does.</summary>
        public static ModuleDefinition Rewrite(string folder, params string[] options)
        {
            string input = typeof(Escapes).Assembly.Location, output = System.IO.Path.Combine(s_root, folder, System.IO.Path.GetFileName(input));
            Assert.Equal(0, Program.Main(["--application", input, "--output", output, .. options]));
            return ModuleDefinition.ReadModule(output);
        }

        /// <summary>The fixture, in which a class implements a method of its interface under another name, and a derived one overrides it so.</summary>
        public static string Renamed(string type, string method, string name, string derived)
        {
            using ModuleDefinition module = ModuleDefinition.ReadModule(typeof(Escapes).Assembly.Location);
            TypeDefinition fixture = module.GetType(typeof(Escapes).FullName);
            MethodDefinition implemented = fixture.NestedTypes.Single(one => one.Name == "I" + type).Methods.Single(one => one.Name == method);
            foreach (string at in new[] { type, derived })
            {
                MethodDefinition its = fixture.NestedTypes.Single(one => one.Name == at).Methods.Single(one => one.Name == method);
                its.Name = name;
                if (at == type)
                {
                    its.Overrides.Add(implemented);
                }
            }

            string path = System.IO.Path.Combine(s_root, "renamed", System.IO.Path.GetFileName(typeof(Escapes).Assembly.Location));
            System.IO.Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
            module.Write(path);
            return path;
        }

        /// <summary>Analyses the fixture, without one of the rules if it is given.</summary>
        public Answers Analyse(EscapeRule? without)
        {
            if (without is null && _right is not null)
            {
                return _right;
            }

            Dictionary<string, string> expected = [], goes = [];
            StringBuilder plans = new();
            AutoDeletion.OnDeepStack(() =>
            {
                SummaryTable summaries = new(_world, without);
                foreach (MethodDefinition method in _world.Read(typeof(Escapes).Assembly.Location).GetType(typeof(Escapes).FullName).Methods)
                {
                    if (method.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.Name == nameof(GoesAttribute)) is { } to)
                    {
                        MethodSummary summary = summaries.Of(method);
                        expected[method.Name] = (string)to.ConstructorArguments[0].Value;
                        goes[method.Name] = MethodSummary.Describe(summary.Objects[0]) + string.Concat(summary.Slots[0].Select(slot => $"virtual {slot.Name}"));
                    }

                    if (method.CustomAttributes.Any(attribute => attribute.AttributeType.Name == nameof(EndAttribute)))
                    {
                        Append(plans, method, summaries.PlanFor(method));
                    }
                }
            });
            Answers answers = new(expected, goes, plans.ToString());
            _right = without is null ? answers : _right;
            return answers;
        }

        private static void Append(StringBuilder text, MethodDefinition method, DeletionPlan plan)
        {
            IList<Instruction> code = method.Body.Instructions;
            text.AppendLine(method.Name);
            for (int i = 0; i < plan.Objects.Count; i++)
            {
                PlannedObject made = plan.Objects[i];
                IEnumerable<string> places = plan.Deletions.Where(deletion => deletion.Object == i).Select(deletion => $"{deletion.Before} {code[deletion.Before].OpCode.Name}");
                string compared = made.Arguments != 0 ? ", unless it is an argument" : "";
                text.AppendLine($"  {made.Index} {code[made.Index].OpCode.Name} {Name(code[made.Index].Operand)}{(made.HasParts ? " with its parts" : "")}{compared}: before {string.Join(", ", places)}");
            }
        }

        private static string Name(object operand) => operand is MethodReference { Name: ".ctor" } constructor ? constructor.DeclaringType.Name : ((MemberReference)operand).Name;
    }
}
