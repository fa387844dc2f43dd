using System.Runtime.Importing;

namespace System.Reflection.Runtime.TypeInfos;

[Framework]
internal abstract class RuntimeTypeInfo;
