namespace Freehold.Benchmarks.GameLoop;

/// <summary>The state of the game. Integers throughout: each frame's outcome is the same on every heap.</summary>
internal sealed class World : IDisposable
{
    private const int Size = 1 << 14, CellSize = 1 << 8, Cells = Size / CellSize;
    private const int SectorsAcross = 8, SectorSize = Size / SectorsAcross, Sectors = SectorsAcross * SectorsAcross;
    private const int Oldest = 100;
    private const int FramesBetweenSectors = 25;

    private readonly Actor[] _actors;
    private readonly List<Projectile> _projectiles = [];
    private readonly Scenery[] _sectors = new Scenery[Sectors];
    private readonly Loader _loader;
    private readonly int _shots;
    private Random64 _random = new(2026);

    public World(int actors, int shots, int levels, int frames)
    {
        _shots = shots;
        _actors = new Actor[actors];
        for (var i = 0; i < actors; i++)
        {
            _actors[i] = new Actor(i, _random.Next(Size), _random.Next(Size));
        }

        _loader = new Loader(levels, SectorSize, Sectors + ((frames + FramesBetweenSectors - 1) / FramesBetweenSectors));
        for (var i = 0; i < Sectors; i++)
        {
            _sectors[i] = _loader.Take();
        }
    }

    public ulong Checksum { get; private set; }

    /// <summary>One frame.</summary>
    public void Step(int frame)
    {
        if (frame % FramesBetweenSectors == 0)
        {
            ref var sector = ref _sectors[frame / FramesBetweenSectors % Sectors];
            _loader.Leave(sector);
            sector = _loader.Take();
        }

        Shoot();
        using (Heap.Scope())
        {
            var grid = Move();
            foreach (var contact in Collide(grid))
            {
                contact.Actor.Hits++;
                contact.Actor.Health = contact.Actor.Health > 1 ? contact.Actor.Health - 1 : 100;
                contact.Actor.Target = contact.Projectile.From;
                contact.Projectile.Age = Oldest;
                Checksum = (Checksum * 31) + (ulong)contact.Actor.Number;
            }

            Draw(frame);
        }

        End();
    }

    /// <summary>Looks at everything that is left.</summary>
    public void Finish()
    {
        foreach (var actor in _actors)
        {
            Checksum = (Checksum * 31) + (ulong)(actor.X + actor.Y + actor.Health + actor.Hits);
        }

        foreach (var projectile in _projectiles)
        {
            Checksum = (Checksum * 31) + (ulong)(projectile.X + projectile.Y + projectile.Age + projectile.From.Number);
        }
    }

    public void Dispose() => _loader.Dispose();

    private void Shoot()
    {
        for (var i = 0; i < _shots; i++)
        {
            var from = _actors[_random.Next(_actors.Length)];
            _projectiles.Add(new Projectile(from, from.X, from.Y, _random.Next(65) - 32, _random.Next(65) - 32));
        }
    }

    /// <summary>Moves everybody; which projectiles are in which cell.</summary>
    private List<Projectile>?[] Move()
    {
        foreach (var actor in _actors)
        {
            var (x, y) = actor.Target is { } target ? (Math.Sign(target.X - actor.X), Math.Sign(target.Y - actor.Y)) : (1, 0);
            actor.X = (actor.X + x + Size) % Size;
            actor.Y = (actor.Y + y + Size) % Size;
        }

        var grid = new List<Projectile>?[Cells * Cells];
        foreach (var projectile in _projectiles)
        {
            projectile.X = (projectile.X + projectile.SpeedX + Size) % Size;
            projectile.Y = (projectile.Y + projectile.SpeedY + Size) % Size;
            projectile.Age++;
            (grid[CellOf(projectile.X, projectile.Y)] ??= []).Add(projectile);
        }

        return grid;
    }

    private List<Contact> Collide(List<Projectile>?[] grid)
    {
        const int Reach = 8;
        var contacts = new List<Contact>();
        foreach (var actor in _actors)
        {
            if (grid[CellOf(actor.X, actor.Y)] is not { } near)
            {
                continue;
            }

            foreach (var projectile in near)
            {
                if (projectile.From != actor && Math.Abs(projectile.X - actor.X) < Reach && Math.Abs(projectile.Y - actor.Y) < Reach)
                {
                    contacts.Add(new Contact(actor, projectile));
                }
            }
        }

        return contacts;
    }

    /// <summary>Orders what a camera sees, which wanders through the sectors.</summary>
    private void Draw(int frame)
    {
        const int View = SectorSize;
        var (left, top) = (frame * 4 % (Size - View), frame * 3 % (Size - View));
        var commands = new List<DrawCommand>();
        foreach (var actor in _actors)
        {
            Add(actor.X, actor.Y, actor);
        }

        foreach (var projectile in _projectiles)
        {
            Add(projectile.X, projectile.Y, projectile);
        }

        commands.Sort();
        var drawn = 0ul;
        foreach (var command in commands)
        {
            drawn = (drawn * 31) + (ulong)(command.Depth + (command.Subject is Actor actor ? actor.Number : 0));
        }

        Checksum += drawn;

        void Add(int x, int y, object subject)
        {
            if (x >= left && x < left + View && y >= top && y < top + View)
            {
                var sector = _sectors[(y / SectorSize * SectorsAcross) + (x / SectorSize)];
                // No two depths are equal: their order after a sort would be anybody's.
                commands.Add(new DrawCommand((sector.HeightAt(x % SectorSize, y % SectorSize) << 16) + commands.Count, subject));
            }
        }
    }

    /// <summary>Ends the projectiles that are old or have hit.</summary>
    private void End()
    {
        var kept = 0;
        for (var i = 0; i < _projectiles.Count; i++)
        {
            var projectile = _projectiles[i];
            if (projectile.Age < Oldest)
            {
                _projectiles[kept++] = projectile;
            }
            else if (Heap.IsManual)
            {
                Heap.Delete(projectile);
            }
        }

        _projectiles.RemoveRange(kept, _projectiles.Count - kept);
    }

    private static int CellOf(int x, int y) => (y / CellSize * Cells) + (x / CellSize);
}
