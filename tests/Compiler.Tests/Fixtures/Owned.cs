using System;
using System.Collections.Generic;

namespace System
{
    /// <summary>As assembly Freehold has it.</summary>
    [AttributeUsage(AttributeTargets.Field)]
    internal sealed class OwnedAttribute : Attribute
    {
        public bool Elements { get; set; }
    }
}

namespace Freehold.Compiler.Fixtures
{
    /// <summary>Classes with parts.</summary>
    public static class Owned
    {
        public class Plain
        {
            [Owned]
            public object? Part;
            [Owned(Elements = true)]
            public List<string>? List;
            public object? Other;
        }

        public class Generic<T>
            where T : class
        {
            [Owned]
            public T? Part;
            [Owned]
            public List<T>? List;
        }

        public class Derived : Generic<string>
        {
            [Owned(Elements = false)]
            public int[]? Numbers;
        }

        /// <summary>Fields that a test marks.</summary>
        public class Unmarked<T>
        {
            public static object? Static;
            public int Number;
            public T? Any;
        }
    }
}
