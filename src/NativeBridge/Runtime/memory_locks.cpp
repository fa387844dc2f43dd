// mlockall would make all of the table and of the heap present, most of which is only reserved: so what it locks is locked as it is touched.
//
// A program that opens a compiled library has bound its call to the C library's function, or will: this library stands in front of nobody then. So the words through which
// the loaded objects call mlockall are changed. They are data that the dynamic linker writes.
#include "memory_locks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "os.h"

extern "C" __attribute__((visibility("default"))) int mlockall(int flags) noexcept {
  static auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "mlockall"));
  return next((flags & (MCL_CURRENT | MCL_FUTURE)) != 0 ? flags | static_cast<int>(MCL_ONFAULT) : flags);
}
// This library's, whoever stands in front.
extern "C" int freehold_own_mlockall(int flags) noexcept __attribute__((copy(mlockall), alias("mlockall"), visibility("hidden")));

namespace freehold::bridge {

namespace {

constexpr const char* kName = "mlockall";

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

void redirect(uintptr_t word, const dl_phdr_info& object) noexcept {
  bool is_read_only = false;
  for (int i = 0; i < object.dlpi_phnum; i++) {
    const Elf64_Phdr& part = object.dlpi_phdr[i];
    is_read_only |= part.p_type == PT_GNU_RELRO && word - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
  }
  auto* page = reinterpret_cast<void*>(word & ~(os::kPageSize - 1));
  // The call goes on as it was where the system does not allow it.
  if (is_read_only && mprotect(page, os::kPageSize, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref<uintptr_t>(*reinterpret_cast<uintptr_t*>(word)).store(reinterpret_cast<uintptr_t>(&freehold_own_mlockall), std::memory_order_release);
  if (is_read_only) mprotect(page, os::kPageSize, PROT_READ);
}

int redirect_in(dl_phdr_info* object, size_t, void* own) noexcept {
  const Elf64_Dyn* section = nullptr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const Elf64_Phdr& part = object->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) section = reinterpret_cast<const Elf64_Dyn*>(object->dlpi_addr + part.p_vaddr);
  }
  if (section == nullptr || object->dlpi_addr == reinterpret_cast<uintptr_t>(own)) return 0;
  Dynamic dynamic = read_dynamic(*object, section);
  if (dynamic.symbols == nullptr || dynamic.names == nullptr) return 0;
  for (int kind = 0; kind < 2; kind++) {
    for (size_t i = 0; dynamic.relocations[kind] != nullptr && i < dynamic.bytes[kind] / sizeof(Elf64_Rela); i++) {
      const Elf64_Rela& one = dynamic.relocations[kind][i];
      auto type = ELF64_R_TYPE(one.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (strcmp(dynamic.names + dynamic.symbols[ELF64_R_SYM(one.r_info)].st_name, kName) == 0) redirect(object->dlpi_addr + one.r_offset, *object);
    }
  }
  return 0;
}

}  // namespace

void redirect_memory_locks() noexcept {
  void* everybody = dlopen(nullptr, RTLD_LAZY);
  bool is_in_front = everybody == nullptr || dlsym(everybody, kName) == reinterpret_cast<void*>(&freehold_own_mlockall);
  if (everybody != nullptr) dlclose(everybody);
  if (is_in_front) return;
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&redirect_memory_locks), &own) != 0) dl_iterate_phdr(redirect_in, own.dli_fbase);
}

}  // namespace freehold::bridge
