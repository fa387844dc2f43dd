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

constexpr size_t kMost = 64;

struct Wanted {
  const Redirection* all[kMost];
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

void redirect_word(uintptr_t word, const dl_phdr_info& object, void* to) noexcept {
  bool is_read_only = false;
  for (int i = 0; i < object.dlpi_phnum; i++) {
    const Elf64_Phdr& part = object.dlpi_phdr[i];
    is_read_only |= part.p_type == PT_GNU_RELRO && word - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
  }
  auto* page = reinterpret_cast<void*>(word & ~(os::kPageSize - 1));
  if (is_read_only && mprotect(page, os::kPageSize, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref<uintptr_t>(*reinterpret_cast<uintptr_t*>(word)).store(reinterpret_cast<uintptr_t>(to), std::memory_order_release);
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
        if (strcmp(name, wanted.all[n]->name) == 0) redirect_word(object->dlpi_addr + one.r_offset, *object, wanted.all[n]->own);
      }
    }
  }
  return 0;
}

}  // namespace

void redirect(const Redirection* all, size_t count) noexcept {
  void* everybody = dlopen(nullptr, RTLD_LAZY);
  if (everybody == nullptr) return;
  Wanted wanted = {};
  for (size_t i = 0; i < count && wanted.count < kMost; i++) {
    void* first = dlsym(everybody, all[i].name);
    // Another one between has its own meaning, or calls this library's already.
    if (first != nullptr && first != all[i].own && first == all[i].next) wanted.all[wanted.count++] = &all[i];
  }
  dlclose(everybody);
  Dl_info own;
  if (wanted.count == 0 || dladdr(reinterpret_cast<void*>(&redirect), &own) == 0) return;
  wanted.own_base = reinterpret_cast<uintptr_t>(own.dli_fbase);
  dl_iterate_phdr(redirect_in, &wanted);
}

}  // namespace freehold::bridge
