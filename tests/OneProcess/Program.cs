using Freehold.OneProcessTests;

// OneProcess <verb> [number]: 0 and "ok", or what is wrong. Figures on standard error.
uint number = args.Length > 1 ? uint.Parse(args[1], System.Globalization.CultureInfo.InvariantCulture) : 0;
switch (args.FirstOrDefault())
{
    case "pins": Pins.Run(); break;
    case "verify": Verification.Run(); break;
    case "budget": Budget.Run(); break;
    case "order": Order.Run(); break;
    case "stops": Stops.Run(number); break;
    default:
        Console.Error.WriteLine("verbs: pins, verify, budget, order, stops SEED");
        return 2;
}

Console.WriteLine("ok");
return 0;
