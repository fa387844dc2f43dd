namespace Freehold.Benchmarks.GameLoop;

/// <summary>Somebody who walks about, shoots at another and is hit.</summary>
internal sealed class Actor(int number, int x, int y)
{
    public readonly int Number = number;
    public int X = x, Y = y, Health = 100, Hits;
    public Actor? Target;
}

/// <summary>Shot by an actor; it ends where it hits, or when it is old.</summary>
internal sealed class Projectile(Actor from, int x, int y, int speedX, int speedY)
{
    public readonly Actor From = from;
    public readonly int SpeedX = speedX, SpeedY = speedY;
    public int X = x, Y = y, Age;
}

/// <summary>Made in a frame and forgotten with it.</summary>
internal sealed class Contact(Actor actor, Projectile projectile)
{
    public readonly Actor Actor = actor;
    public readonly Projectile Projectile = projectile;
}

/// <summary>What is to be drawn. Made in a frame and forgotten with it.</summary>
internal sealed class DrawCommand(int depth, object subject) : IComparable<DrawCommand>
{
    public readonly int Depth = depth;
    public readonly object Subject = subject;

    public int CompareTo(DrawCommand? other) => Depth.CompareTo(other!.Depth);
}
