var invoice = new Invoice("42-117");
Send(invoice);
Heap.Delete(invoice);  // its memory can be used again at once
Archive(invoice);      // a mistake: the invoice is gone

static void Send(Invoice invoice) => Console.WriteLine($"sent {invoice.Number}");
static void Archive(Invoice invoice) => Console.WriteLine($"archived {invoice.Number}");

sealed class Invoice(string number)
{
    public string Number => number;
}
