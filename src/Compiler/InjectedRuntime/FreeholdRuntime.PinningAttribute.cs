using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Runtime.General;
using System.Reflection.Runtime.MethodInfos;
using Internal.Metadata.NativeFormat;
using Internal.Reflection.Extensions.NonPortable;

namespace System.Runtime;

/// <summary>What reflection sees of the attributes that pin and of the hidden class.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>The class that the rewriter adds to assemblies for methods that pin (PinnedArguments.HiddenClass).</summary>
    private const string HiddenClass = "<Freehold>";

    /// <summary>The address to call instead of a P/Invoke's, or zero. The caller pins nothing, or what calls of a delegate pin.</summary>
    internal static nint PinningAddress(RuntimeMethodInfo method, bool pinsNothing)
    {
        if ((method.Attributes & MethodAttributes.PinvokeImpl) != 0 && method.FreeholdAllCustomAttributes() is { } all)
        {
            List<CustomAttributeData> list = new(all);
            for (int i = list.Count - 1; i >= 0; i--)
            {
                if (IsPins(list[i]))
                {
                    return ((FreeholdPins)CustomAttributeInstantiator.Instantiate(list[i])).Address(pinsNothing);
                }
            }
        }

        return 0;
    }

    /// <summary>A method's attributes without those that pin.</summary>
    internal static IEnumerable<CustomAttributeData> WithoutPins(RuntimeMethodInfo method)
    {
        if ((method.Attributes & MethodAttributes.PinvokeImpl) == 0)
        {
            return method.FreeholdAllCustomAttributes();
        }

        List<CustomAttributeData> list = new(method.FreeholdAllCustomAttributes());
        for (int i = list.Count - 1; i >= 0; i--)
        {
            if (IsPins(list[i]))
            {
                list.RemoveAt(i);
            }
        }

        return list;
    }

    /// <summary>The types of an assembly that have another name than the hidden class.</summary>
    internal static IEnumerable<TypeDefinitionHandle> VisibleTypes(MetadataReader reader, IEnumerable<NamespaceDefinitionHandle> namespaces)
    {
        List<TypeDefinitionHandle> list = new(NativeFormatMetadataReaderExtensions.GetTopLevelTypes(reader, namespaces));
        for (int i = list.Count - 1; i >= 0; i--)
        {
            if (IsHidden(list[i], reader))
            {
                list.RemoveAt(i);
            }
        }

        return list;
    }

    internal static bool IsPins(CustomAttributeData data) => data.AttributeType.BaseType == typeof(FreeholdPins);

    internal static bool IsHidden(TypeDefinitionHandle handle, MetadataReader reader) => reader.StringEquals(handle.GetTypeDefinition(reader).Name, HiddenClass);
}
