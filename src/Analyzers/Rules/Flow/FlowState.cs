using System;

namespace Freehold.Analyzers.Flow;

/// <summary>
/// At one point of a method: the facts of each variable, and which variables refer to one object for certain. Where paths meet, two variables are one object if they are on both.
/// </summary>
internal sealed class FlowState
{
    private readonly Facts[] _facts;

    // The first variable that refers to the same object.
    private readonly int[] _classes;

    public FlowState(int variables)
    {
        _facts = new Facts[variables];
        _classes = new int[variables];
        for (int i = 0; i < variables; i++)
        {
            _facts[i] = Facts.Alive | Facts.Other;
            _classes[i] = i;
        }
    }

    private FlowState(FlowState other)
    {
        _facts = (Facts[])other._facts.Clone();
        _classes = (int[])other._classes.Clone();
    }

    public Facts this[int variable] => _facts[variable];

    public FlowState Clone() => new(this);

    /// <summary>The variable refers to another object, of which these facts are known.</summary>
    public void Set(int variable, Facts facts)
    {
        Leave(variable);
        _facts[variable] = facts;
    }

    /// <summary>The variable refers to what another refers to.</summary>
    public void Copy(int variable, int from)
    {
        if (_classes[variable] == _classes[from])
        {
            return;
        }

        Leave(variable);
        _facts[variable] = _facts[from];
        int representative = _classes[from];
        if (variable < representative)
        {
            for (int i = 0; i < _classes.Length; i++)
            {
                if (_classes[i] == representative)
                {
                    _classes[i] = variable;
                }
            }

            representative = variable;
        }

        _classes[variable] = representative;
    }

    /// <summary>The object of the variable is deleted, by whatever name.</summary>
    public void Delete(int variable)
    {
        for (int i = 0; i < _classes.Length; i++)
        {
            if (_classes[i] == _classes[variable])
            {
                _facts[i] = (_facts[i] & Facts.Origins) | Facts.Deleted;
            }
        }
    }

    /// <summary>Adds another path that leads here; whether that changed anything.</summary>
    public bool Join(FlowState other)
    {
        bool changed = false;
        var classes = new int[_classes.Length];
        for (int i = 0; i < classes.Length; i++)
        {
            Facts facts = _facts[i] | other._facts[i];
            changed |= facts != _facts[i];
            _facts[i] = facts;
            classes[i] = i;

            // Alone, or the first of its class: there is nobody before it.
            for (int j = 0; j < i && _classes[i] != i; j++)
            {
                if (_classes[j] == _classes[i] && other._classes[j] == other._classes[i])
                {
                    classes[i] = classes[j];
                    break;
                }
            }
        }

        for (int i = 0; i < classes.Length; i++)
        {
            changed |= classes[i] != _classes[i];
        }

        Array.Copy(classes, _classes, classes.Length);
        return changed;
    }

    private void Leave(int variable)
    {
        int next = -1;
        for (int i = 0; i < _classes.Length; i++)
        {
            if (i != variable && _classes[i] == variable)
            {
                next = next < 0 ? i : next;
                _classes[i] = next;
            }
        }

        _classes[variable] = variable;
    }
}
