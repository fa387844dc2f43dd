#include "contexts.h"

#include <string.h>

namespace freehold::profile {

namespace {

uint64_t hash_of(const char* name) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *name != '\0'; name++) hash = (hash ^ static_cast<uint8_t>(*name)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

uint64_t key_of(uint32_t context, uint32_t site) noexcept { return uint64_t{context} << 32 | site; }

}  // namespace

bool Contexts::initialize() noexcept { return sites_.initialize(kMostSites) && nodes_.initialize(kMostNodes); }

// By its name: two names with one hash would be one site, at one in 2^64.
uint32_t Contexts::id_of(const Site* site) noexcept {
  uint32_t id = site->id.load(std::memory_order_relaxed);
  if (id != 0) return id;
  uint64_t* known = by_name_.at(hash_of(site->name));
  if (known == nullptr) return 0;
  if (*known == 0) {
    if (sites_used_ == kMostSites) return 0;
    sites_[sites_used_] = site;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // who writes the profile in a handler sees whole ones only
    *known = sites_used_++;
  }
  id = static_cast<uint32_t>(*known);
  const_cast<Site*>(site)->id.store(id, std::memory_order_relaxed);
  return id;
}

uint32_t Contexts::child(uint32_t parent, uint32_t site) noexcept {
  uint64_t* known = children_.at(key_of(parent, site));
  if (known == nullptr) return parent;
  if (*known == 0) {
    if (nodes_used_ == kMostNodes) return parent;
    nodes_[nodes_used_] = {parent, site, 0, 0, 0, 0};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    *known = nodes_used_++;
  }
  return static_cast<uint32_t>(*known);
}

uint32_t Contexts::extend(uint32_t context, const Site* site) noexcept {
  uint32_t id = id_of(site);
  if (id == 0) return context;
  uint64_t* known = extended_.at(key_of(context, id));
  if (known != nullptr && *known != 0) return static_cast<uint32_t>(*known);
  // From the inside: the sites of the chain but this one.
  uint32_t length = 0;
  bool was_in = false;
  for (uint32_t at = context; at != kNoContext && length < kLongestChain; at = nodes_[at].parent) {
    if (nodes_[at].site == id) {
      was_in = true;
    } else {
      chain_[length++] = nodes_[at].site;
    }
  }
  uint32_t made = context;
  if (was_in) {
    made = kNoContext;
    while (length != 0) made = child(made, chain_[--length]);
  }
  made = child(made, id);
  // The place may have moved.
  known = extended_.at(key_of(context, id));
  if (known != nullptr) *known = made;
  return made;
}

uint32_t Contexts::of_frames(Frame* frames, uint64_t depth) noexcept {
  if (depth == 0) return kNoContext;
  uint64_t from = depth, least = depth > kMostFrames ? depth - kMostFrames : 0;
  while (from > least && frames[(from - 1) & (kMostFrames - 1)].context == 0) from--;
  uint32_t context = from > least ? static_cast<uint32_t>(frames[(from - 1) & (kMostFrames - 1)].context) : kNoContext;
  for (; from < depth; from++) {
    Frame& frame = frames[from & (kMostFrames - 1)];
    if (frame.site != nullptr) context = extend(context, frame.site);
    frame.context = context;
  }
  return context;
}

void Contexts::forget_counts() noexcept {
  for (uint32_t i = 0; i < nodes_used_; i++) nodes_[i].allocations = nodes_[i].bytes = 0;
}

}  // namespace freehold::profile
