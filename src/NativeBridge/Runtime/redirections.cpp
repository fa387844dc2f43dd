#include "redirections.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "os.h"

namespace freehold::bridge {

namespace {

struct Wanted {
  const Redirection* all[kMostRedirections];
  size_t count;
  uintptr_t own_base;
};

// The dynamic section of a loaded object. Zero: it has no such entry.
struct Dynamic {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* relocations[2] = {};
  size_t bytes[2] = {};
};

Dynamic read_dynamic(const dl_phdr_info& object, const Elf64_Dyn* entry) noexcept {
  // The dynamic linker has made addresses of them, but not in the kernel's object, which it must not write.
  auto at = [&](Elf64_Addr value) { return value < object.dlpi_addr ? value + object.dlpi_addr : value; };
  Dynamic found;
  for (; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const Elf64_Sym*>(at(entry->d_un.d_ptr)); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(at(entry->d_un.d_ptr)); break;
      case DT_JMPREL: found.relocations[0] = reinterpret_cast<const Elf64_Rela*>(at(entry->d_un.d_ptr)); break;
      case DT_PLTRELSZ: found.bytes[0] = entry->d_un.d_val; break;
      case DT_RELA: found.relocations[1] = reinterpret_cast<const Elf64_Rela*>(at(entry->d_un.d_ptr)); break;
      case DT_RELASZ: found.bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

// A word that leads elsewhere is not of this function: the object was opened with an allocator of its own, say (RTLD_DEEPBIND). One that is not bound yet leads into the object itself.
void redirect_word(uintptr_t word, const dl_phdr_info& object, const Redirection& one) noexcept {
  std::atomic_ref<uintptr_t> target(*reinterpret_cast<uintptr_t*>(word));
  uintptr_t before = target.load(std::memory_order_relaxed);
  bool is_read_only = false, is_unbound = false;
  for (int i = 0; i < object.dlpi_phnum; i++) {
    const Elf64_Phdr& part = object.dlpi_phdr[i];
    // Of its last page the dynamic linker leaves the rest of the data writable, and the words there with it.
    uintptr_t start = object.dlpi_addr + part.p_vaddr, end = (start + part.p_memsz) & ~(os::kPageSize - 1);
    is_read_only |= part.p_type == PT_GNU_RELRO && word >= start && word < end;
    is_unbound |= part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && before - start < part.p_memsz;
  }
  if (before != reinterpret_cast<uintptr_t>(one.next) && !is_unbound) return;
  auto* page = reinterpret_cast<void*>(word & ~(os::kPageSize - 1));
  if (is_read_only && mprotect(page, os::kPageSize, PROT_READ | PROT_WRITE) != 0) return;
  target.store(reinterpret_cast<uintptr_t>(one.own), std::memory_order_release);
  if (is_read_only) mprotect(page, os::kPageSize, PROT_READ);
}

int redirect_in(dl_phdr_info* object, size_t, void* data) noexcept {
  const auto& wanted = *static_cast<const Wanted*>(data);
  const Elf64_Dyn* section = nullptr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const Elf64_Phdr& part = object->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) section = reinterpret_cast<const Elf64_Dyn*>(object->dlpi_addr + part.p_vaddr);
  }
  if (section == nullptr || object->dlpi_addr == wanted.own_base) return 0;
  Dynamic dynamic = read_dynamic(*object, section);
  if (dynamic.symbols == nullptr || dynamic.names == nullptr) return 0;
  for (int kind = 0; kind < 2; kind++) {
    for (size_t i = 0; dynamic.relocations[kind] != nullptr && i < dynamic.bytes[kind] / sizeof(Elf64_Rela); i++) {
      const Elf64_Rela& one = dynamic.relocations[kind][i];
      auto type = ELF64_R_TYPE(one.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      const char* name = dynamic.names + dynamic.symbols[ELF64_R_SYM(one.r_info)].st_name;
      for (size_t n = 0; n < wanted.count; n++) {
        if (strcmp(name, wanted.all[n]->name) == 0) redirect_word(object->dlpi_addr + one.r_offset, *object, *wanted.all[n]);
      }
    }
  }
  return 0;
}

}  // namespace

void* behind_stub(const char* name, void* function) noexcept {
  Dl_info where;
  void* entry = nullptr;
  if (function == nullptr || dladdr1(function, &where, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr ||
      static_cast<const Elf64_Sym*>(entry)->st_shndx != SHN_UNDEF)
    return function;
  void* everybody = dlopen(nullptr, RTLD_LAZY);
  link_map* object = nullptr;
  void* found = nullptr;
  if (everybody == nullptr || dlinfo(everybody, RTLD_DI_LINKMAP, static_cast<void*>(&object)) != 0) return function;
  // The first one behind the executable that defines it, and not what that one depends on.
  for (object = object->l_next; object != nullptr && found == nullptr; object = object->l_next) {
    void* opened = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) continue;
    void* candidate = dlsym(opened, name);
    if (candidate != nullptr && dladdr(candidate, &where) != 0 && strcmp(where.dli_fname, object->l_name) == 0) found = candidate;
    dlclose(opened);
  }
  dlclose(everybody);
  return found != nullptr ? found : function;
}

void redirect(const Redirection* all, size_t count) noexcept {
  void* everybody = dlopen(nullptr, RTLD_LAZY);
  if (everybody == nullptr) return;
  Wanted wanted = {};
  for (size_t i = 0; i < count && wanted.count < kMostRedirections; i++) {
    void* first = behind_stub(all[i].name, dlsym(everybody, all[i].name));
    // Another one between has its own meaning, or calls this library's already.
    if (first != nullptr && first != all[i].own && first == all[i].next) wanted.all[wanted.count++] = &all[i];
  }
  dlclose(everybody);
  Dl_info own;
  if (wanted.count == 0 || dladdr(reinterpret_cast<void*>(&behind_stub), &own) == 0) return;
  wanted.own_base = reinterpret_cast<uintptr_t>(own.dli_fbase);
  dl_iterate_phdr(redirect_in, &wanted);
}

}  // namespace freehold::bridge
