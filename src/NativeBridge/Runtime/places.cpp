#include "places.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "Platform/system_call.h"

namespace freehold::bridge::places {

namespace {

using Find = int (*)(void*, dl_find_object*);
Find find_object = nullptr;  // of glibc since 2.35: without the loader's lock, which another thread may hold for long
char program[512];           // its file

// Of the module's dynamic table; glibc has relocated most of its addresses, not those of the vDSO.
template <typename T>
const T* table_of(const link_map& module, int64_t tag) noexcept {
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == tag) return reinterpret_cast<const T*>(entry->d_un.d_ptr < module.l_addr ? entry->d_un.d_ptr + module.l_addr : entry->d_un.d_ptr);
  }
  return nullptr;
}

// The dynamic symbols are as many as the hash table of their names leads to.
uint32_t symbol_count(const uint32_t* hash) noexcept {
  uint32_t buckets = hash[0], first = hash[1], last = 0;
  const uint32_t* bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  for (uint32_t i = 0; i < buckets; i++) {
    if (bucket[i] > last) last = bucket[i];
  }
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) last++;
  return last + 1;
}

void find_function(const link_map& module, uintptr_t address, Place* place) noexcept {
  auto* symbols = table_of<ElfW(Sym)>(module, DT_SYMTAB);
  auto* names = table_of<char>(module, DT_STRTAB);
  auto* hash = table_of<uint32_t>(module, DT_GNU_HASH);
  if (symbols == nullptr || names == nullptr || hash == nullptr) return;
  uint32_t count = symbol_count(hash);
  for (uint32_t i = 0; i < count; i++) {
    const ElfW(Sym)& symbol = symbols[i];
    uintptr_t start = module.l_addr + symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address < start || address - start >= symbol.st_size) continue;
    place->function = names + symbol.st_name;
    place->function_offset = address - start;
    return;
  }
}

Place by_dladdr(uintptr_t address) noexcept {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return {"", address, 0, nullptr, 0};
  auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  return {info.dli_fname, address - base, base, info.dli_sname, address - reinterpret_cast<uintptr_t>(info.dli_saddr)};
}

}  // namespace

void initialize() noexcept {
  find_object = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  long length = freehold::os::system_call(SYS_readlink, freehold::os::argument("/proc/self/exe"), freehold::os::argument(program), sizeof program - 1);
  if (length < 0) program[0] = '\0';
}

Place of(uintptr_t address) noexcept {
  if (find_object == nullptr) return by_dladdr(address);
  dl_find_object found;
  if (find_object(reinterpret_cast<void*>(address), &found) != 0) return {"", address, 0, nullptr, 0};
  const link_map& module = *found.dlfo_link_map;
  Place result = {module.l_name[0] != '\0' ? module.l_name : program, address - module.l_addr, reinterpret_cast<uintptr_t>(found.dlfo_map_start), nullptr, 0};
  find_function(module, address, &result);
  return result;
}

}  // namespace freehold::bridge::places
