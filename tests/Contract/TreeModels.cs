using System.Runtime.CompilerServices;
using Freehold.Collections;

namespace Freehold.Contract;

/// <summary>A list in leaves, of large values with a reference each: 32 of them are a leaf, so that leaves are made and deleted all the time.</summary>
internal sealed class TreeListModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _numbers = new(400);
    private TreeList<Wide> _list = [];

    public override void Step()
    {
        int number = Random.Next(1_000), count = _numbers.Count, at = Random.Next(count + 1);
        switch (Random.Next(count == 0 ? 3 : 12))
        {
            case < 2 when !_numbers.IsFull:
                _list.Insert(at, Wide.Of(number));
                _numbers.Insert(at, number);
                break;
            case 2 or 3 when count < 350:
                for (int i = 0; i < 50; i++)
                {
                    _list.Add(Wide.Of(number + i));
                    _numbers.Insert(count + i, number + i);
                }
                break;
            case 4 when at < count:
                Element removed = _list[at].Element;
                _list.RemoveAt(at);
                Expect(removed.Is(_numbers.RemoveAt(at)), "what was removed is another");
                Element.Delete(removed);
                break;
            case 5 or 6:
                int removals = Random.Next(count - at + 1);
                foreach (ref Wide wide in _list.Slice(at, removals))
                    Element.Delete(wide.Element);
                _list.RemoveRange(at, removals);
                for (int i = 0; i < removals; i++)
                    _numbers.RemoveAt(at);
                break;
            case 7 when at < count:
                ref Wide place = ref _list[at];
                Element.Delete(place.Element);
                place = Wide.Of(number);
                _numbers[at] = number;
                break;
            case 8 when Random.Next(20) == 0:
                _list.Sort();
                _numbers.Sort();
                break;
            case 9 when Random.Next(4) == 0:
                _list.Slice(at, count - at).Reverse();
                _numbers.Reverse(at, count - at);
                break;
            case 10 when Random.Next(10) == 0:
                _list.TrimExcess();
                break;
            default:
                TreeCursor<Wide> cursor = _list.Cursor();
                for (int i = at; i < count; i += 7)
                    Expect(cursor[i].Is(_numbers[i]), "an element is another");
                break;
        }
    }

    public override void Check()
    {
        Expect(_list.Count == _numbers.Count, "Count");
        Expect(_list.Capacity <= _numbers.Count + 64, "leaves that nobody needs");
        int i = 0;
        foreach (ref Wide wide in _list)
            Expect(wide.Is(_numbers[i++]), "an element is another");
    }

    public override void Renew()
    {
        foreach (ref Wide wide in _list)
            Element.Delete(wide.Element);
        Heap.Delete(_list);
        _list = [];
        _numbers.Clear();
    }
}

/// <summary>An element, and numbers behind it that must stay as they are.</summary>
internal struct Wide : IComparable<Wide>
{
    public Element Element;
    private Padding _padding;

    public static Wide Of(int number)
    {
        Wide wide = default;
        wide.Element = new Element(number);
        wide._padding[0] = wide._padding[Padding.Length - 1] = number;
        return wide;
    }

    public bool Is(int number) => Element.Is(number) && _padding[0] == number && _padding[Padding.Length - 1] == number;

    public readonly int CompareTo(Wide other) => Element.CompareTo(other.Element);

    [InlineArray(Length)]
    private struct Padding
    {
        internal const int Length = 120;
        private long _first;
    }
}
