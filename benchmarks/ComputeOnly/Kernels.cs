using System.Numerics;

namespace Freehold.Benchmarks;

/// <summary>Computations on data that was allocated before: what they cost must not depend on the heap.</summary>
internal static class Kernels
{
    /// <summary>Dense product of two square matrices in arrays of double.</summary>
    public sealed class Matrix : IKernel
    {
        private const int N = 320;
        private readonly double[] _a = new double[N * N];
        private readonly double[] _b = new double[N * N];
        private readonly double[] _c = new double[N * N];

        public Matrix()
        {
            for (var i = 0; i < N * N; i++)
            {
                _a[i] = (i % 97) / 97.0;
                _b[i] = (i % 89) / 89.0;
            }
        }

        public double Run()
        {
            Array.Clear(_c);
            for (var i = 0; i < N; i++)
            {
                for (var k = 0; k < N; k++)
                {
                    var a = _a[(i * N) + k];
                    for (var j = 0; j < N; j++)
                    {
                        _c[(i * N) + j] += a * _b[(k * N) + j];
                    }
                }
            }

            return _c[(N * N) - 1];
        }
    }

    /// <summary>Five bodies as objects: fields read and written through references.</summary>
    public sealed class Bodies : IKernel
    {
        private readonly Body[] _bodies = [new(0, 0, 40, 0), new(4.8, -1.1, 0.03, 0.6), new(8.3, 4.1, 0.01, 1), new(12, -15, 0.001, 1.1), new(15, -25, 0.002, 0.9)];

        public double Run()
        {
            for (var step = 0; step < 400_000; step++)
            {
                for (var i = 0; i < _bodies.Length; i++)
                {
                    var a = _bodies[i];
                    for (var j = i + 1; j < _bodies.Length; j++)
                    {
                        var b = _bodies[j];
                        var (dx, dy) = (a.X - b.X, a.Y - b.Y);
                        var distance = (dx * dx) + (dy * dy) + 0.01;
                        var force = 0.0001 / (distance * Math.Sqrt(distance));
                        a.SpeedX -= dx * b.Mass * force;
                        a.SpeedY -= dy * b.Mass * force;
                        b.SpeedX += dx * a.Mass * force;
                        b.SpeedY += dy * a.Mass * force;
                    }
                }

                foreach (var body in _bodies)
                {
                    body.X += 0.0001 * body.SpeedX;
                    body.Y += 0.0001 * body.SpeedY;
                }
            }

            return _bodies[0].X;
        }

        private sealed class Body(double x, double y, double mass, double speed)
        {
            public readonly double Mass = mass;
            public double X = x;
            public double Y = y;
            public double SpeedX = speed;
            public double SpeedY = -speed;
        }
    }

    /// <summary>Primes by the sieve, in an array of bytes.</summary>
    public sealed class Sieve : IKernel
    {
        private readonly byte[] _composite = new byte[8_000_000];

        public double Run()
        {
            _composite.AsSpan().Clear();
            var primes = 0;
            for (var i = 2; i < _composite.Length; i++)
            {
                if (_composite[i] == 0)
                {
                    primes++;
                    for (var j = (long)i * i; j < _composite.Length; j += i)
                    {
                        _composite[j] = 1;
                    }
                }
            }

            return primes;
        }
    }

    /// <summary>Walks a list of objects in an order that the caches do not know.</summary>
    public sealed class List : IKernel
    {
        private readonly Node _first;

        public List()
        {
            var nodes = new Node[200_000];
            for (var i = 0; i < nodes.Length; i++)
            {
                nodes[i] = new Node { Value = i };
            }

            var random = new Random64(7);
            for (var i = nodes.Length - 1; i > 0; i--)
            {
                var j = random.Next(i + 1);
                (nodes[i], nodes[j]) = (nodes[j], nodes[i]);
            }

            for (var i = 1; i < nodes.Length; i++)
            {
                nodes[i - 1].Next = nodes[i];
            }

            _first = nodes[0];
        }

        public double Run()
        {
            long sum = 0;
            for (var walk = 0; walk < 12; walk++)
            {
                for (var node = _first; node is not null; node = node.Next)
                {
                    sum += node.Value * walk;
                }
            }

            return sum;
        }

        private sealed class Node
        {
            public Node? Next;
            public long Value;
        }
    }

    /// <summary>Sorts an array of objects: references read, compared by key, and stored.</summary>
    public sealed class Sort : IKernel
    {
        private readonly Record[] _records = new Record[200_000];
        private readonly Record[] _unsorted = new Record[200_000];

        public Sort()
        {
            var random = new Random64(11);
            for (var i = 0; i < _unsorted.Length; i++)
            {
                _unsorted[i] = new Record(random.Next(int.MaxValue));
            }
        }

        public double Run()
        {
            _unsorted.CopyTo(_records, 0);
            QuickSort(_records, 0, _records.Length - 1);
            return _records[0].Key + (double)_records[^1].Key;
        }

        private static void QuickSort(Record[] records, int low, int high)
        {
            while (low < high)
            {
                var pivot = records[(low + high) >>> 1].Key;
                int i = low, j = high;
                while (i <= j)
                {
                    while (records[i].Key < pivot)
                    {
                        i++;
                    }

                    while (records[j].Key > pivot)
                    {
                        j--;
                    }

                    if (i <= j)
                    {
                        (records[i], records[j]) = (records[j], records[i]);
                        i++;
                        j--;
                    }
                }

                QuickSort(records, low, j);
                low = i;
            }
        }

        private sealed class Record(int key)
        {
            public readonly int Key = key;
        }
    }

    /// <summary>Looks up strings in a dictionary of the framework.</summary>
    public sealed class Lookup : IKernel
    {
        private readonly string[] _keys = new string[50_000];
        private readonly Dictionary<string, int> _values = new(50_000);

        public Lookup()
        {
            for (var i = 0; i < _keys.Length; i++)
            {
                _keys[i] = "key number " + i;
                _values[_keys[i]] = i;
            }
        }

        public double Run()
        {
            long sum = 0;
            for (var round = 0; round < 40; round++)
            {
                foreach (var key in _keys)
                {
                    sum += _values[key];
                }
            }

            return sum;
        }
    }

    /// <summary>Integers only: population counts and products in registers.</summary>
    public sealed class Registers : IKernel
    {
        public double Run()
        {
            ulong x = 1, sum = 0;
            for (var i = 0; i < 60_000_000; i++)
            {
                x = (x * 6364136223846793005) + 1442695040888963407;
                sum += (ulong)BitOperations.PopCount(x);
            }

            return sum;
        }
    }
}
