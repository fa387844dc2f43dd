using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Freehold.Compiler.Fixtures
{
    /// <summary>Ways to the array of a collection, each a class; and, in Harmless, what looks like one.</summary>
    public static class Outgrown
    {
        public static class AccessorByName
        {
            [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_items")]
            public static extern ref int[] Items(List<int> list);
        }

        public static class AccessorByItsOwnName
        {
#pragma warning disable IDE1006 // the name of the field
            [UnsafeAccessor(UnsafeAccessorKind.Field)]
            public static extern ref int[] _items(List<int> list);
#pragma warning restore IDE1006
        }

        public static class CloneByItsOwnName
        {
            [UnsafeAccessor(UnsafeAccessorKind.Method)]
            public static extern object MemberwiseClone(object list);
        }

        public static class FieldByReflection
        {
            public static object? Of(List<int> list) => typeof(List<int>).GetField("_items", System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance)!.GetValue(list);
        }

        public class Clones : List<int>
        {
            public object Clone() => MemberwiseClone();
        }

        public class ClonesByDelegate : List<int>
        {
            public Func<object> Cloner() => MemberwiseClone;
        }

        /// <summary>A test makes it load the field itself.</summary>
        public static class FieldInIl
        {
            public static int[] Read(List<int> list) => [list.Count];
        }

        public abstract class Collection<T> : ICollection<T>
        {
            public int Count => 0;

            public bool IsReadOnly => true;

            public void Add(T item) => throw new NotSupportedException();

            public void Clear() => throw new NotSupportedException();

            public bool Contains(T item) => false;

            public abstract void CopyTo(T[] array, int index);

            public bool Remove(T item) => false;

            public IEnumerator<T> GetEnumerator() => throw new NotSupportedException();

            IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
        }

        public class KeepsInField : Collection<object>
        {
            private object[]? _kept;

            public override void CopyTo(object[] array, int index) => _kept = array;

            public object[]? Kept => _kept;
        }

        public class KeepsInAnotherForm : Collection<object>
        {
            private IList<object>? _kept;

            public override void CopyTo(object[] array, int index) => CopyTo((IList<object>)array, index);

            public IList<object>? Kept => _kept;

            private void CopyTo(IList<object> list, int index) => _kept = index == 0 ? list : null;
        }

        public class KeepsAsAnObject : Collection<object>
        {
            private object? _kept;

            public override void CopyTo(object[] array, int index) => CopyTo((object)array);

            public object? Kept => _kept;

            private void CopyTo(object target) => _kept = target;
        }

        public class KeepsInElement : Collection<object>
        {
            private readonly object[] _kept = new object[1];

            public override void CopyTo(object[] array, int index) => _kept[0] = array;
        }

        public class KeepsInElementByLocal : Collection<object>
        {
            private readonly object[][] _kept = new object[1][];

            public override void CopyTo(object[] array, int index)
            {
                object[] target = array;
                for (int i = 0; i < _kept.Length; i++)
                    _kept[i] = target;
                target[index] = target.Length;
            }
        }

        public class KeepsOneOfTwo : Collection<object>
        {
            private readonly object?[] _kept = new object?[1];

            public override void CopyTo(object[] array, int index) => _kept[0] = index > 1 ? array : null;
        }

        public class KeepsBehindReference : Collection<object>
        {
            private readonly object[] _kept = new object[1];

            public override void CopyTo(object[] array, int index)
            {
                ref object kept = ref _kept[0];
                kept = array;
            }
        }

        public class KeepsInStructure<T> : Collection<T>
        {
            private readonly (T[] Array, int Index)[] _kept = new (T[], int)[1];

            public override void CopyTo(T[] array, int index)
            {
                (T[] Array, int Index) both = default;
                both.Array = array;
                _kept[0] = both;
            }
        }

        public class KeepsByArray : Collection<object>
        {
            private readonly Array _kept = new object[1];

            public override void CopyTo(object[] array, int index) => _kept.SetValue(array, index++);
        }

        public class KeepsAsCloneable : Collection<object>
        {
            private ICloneable? _kept;

            public override void CopyTo(object[] array, int index) => _kept = array;

            public ICloneable? Kept => _kept;
        }

        public class KeepsByBase : KeepingBase, ICollection
        {
            public int Count => 0;

            public bool IsSynchronized => false;

            public object SyncRoot => this;

            public IEnumerator GetEnumerator() => throw new NotSupportedException();
        }

        public class KeepingBase
        {
            public static Array? Kept { get; private set; }

            /// <summary>Not virtual before somebody implements an interface with it.</summary>
            public void CopyTo(Array array, int index) => Kept = array;
        }

        /// <summary>A test gives CopyTo another name, as Visual Basic lets one do.</summary>
        public class KeepsUnderAnotherName : ICollection
        {
            private Array? _kept;

            public int Count => 0;

            public bool IsSynchronized => false;

            public object SyncRoot => (object?)_kept ?? this;

            void ICollection.CopyTo(Array array, int index) => _kept = array;

            public IEnumerator GetEnumerator() => throw new NotSupportedException();
        }

        public static class Harmless
        {
            public static object?[] Strings => ["keys", "values", typeof(List<int>).FullName];

            public class Fills<T> : Collection<T>
            {
                private readonly T[] _elements = new T[1];
                private int _copies;

                public override void CopyTo(T[] array, int index)
                {
                    ArgumentNullException.ThrowIfNull(array);
                    foreach (T element in _elements)
                    {
                        array[index++] = element;
                        _copies++;
                    }
                }
            }

            public class FillsObjects : Collection<object>
            {
                private readonly Dictionary<int, object> _elements = [];

                public override void CopyTo(object[] array, int index)
                {
                    foreach (KeyValuePair<int, object> element in _elements)
                    {
                        object value = element.Value;
                        array[index++] = value;
                    }
                }
            }

            public class FillsArray : ICollection
            {
                private readonly object[] _elements = new object[1];

                public int Count => 1;

                public bool IsSynchronized => false;

                public object SyncRoot => this;

                public void CopyTo(Array array, int index)
                {
                    for (int i = 0; i < _elements.Length; i++)
                        array.SetValue(_elements[i], index++);
                }

                public IEnumerator GetEnumerator() => _elements.GetEnumerator();
            }

            public class Delegates : Collection<int>
            {
                private readonly List<int> _inner = [];

                public override void CopyTo(int[] array, int index)
                {
                    _inner.CopyTo(array, index);
                    Array.Copy(_inner.ToArray(), array, 1);
                    _inner.ToArray().AsSpan().CopyTo(array.AsSpan(index));
                }
            }

            public class ClonesItself
            {
                public object Clone() => MemberwiseClone();
            }
        }
    }
}
