using System.Runtime.Importing;

namespace Internal.Runtime;

[Framework]
internal struct MethodTable;
