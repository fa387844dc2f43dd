using System;
using System.Reflection;
using System.Runtime.Importing;

namespace Internal.Reflection.Extensions.NonPortable;

[Framework]
internal static class CustomAttributeInstantiator
{
    public static extern Attribute Instantiate(CustomAttributeData data);
}
