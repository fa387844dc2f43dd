// Contexts of allocations: chains of call sites, reduced as in the paper (only the latest of several calls at one site stays), each with a number. Kept as a tree.
//
// The runtime's lock guards everything here.
#pragma once

#include <cstdint>

#include "reserved.h"
#include "sites.h"

namespace freehold::profile {

inline constexpr uint32_t kNoContext = 1;  // the chain without a site

struct ContextNode {
  uint32_t parent, site;
  uint64_t allocations, bytes;
  uint64_t last_sequence;  // of its latest allocation
  uint32_t last_object;
};

class Contexts {
 public:
  static constexpr uint32_t kLongestChain = 4096;

  bool initialize() noexcept;
  // The chain with one site more. When there is no room the chain as it was.
  uint32_t extend(uint32_t context, const Site* site) noexcept;
  // Of a thread's frames.
  uint32_t of_frames(Frame* frames, uint64_t depth) noexcept;

  ContextNode& operator[](uint32_t context) noexcept { return nodes_[context]; }
  uint32_t end() const noexcept { return nodes_used_; }
  const Site& site(uint32_t id) noexcept { return *sites_[id]; }
  uint32_t sites_end() const noexcept { return sites_used_; }
  void forget_counts() noexcept;

 private:
  static constexpr uint32_t kMostSites = 1 << 20, kMostNodes = 1 << 22;

  uint32_t id_of(const Site* site) noexcept;
  uint32_t child(uint32_t parent, uint32_t site) noexcept;

  Reserved<const Site*> sites_;
  Reserved<ContextNode> nodes_;
  // For extend: a thread's stack may be small.
  uint32_t chain_[kLongestChain] = {};
  Counts by_name_;              // hash of a name: site
  Counts children_, extended_;  // context and site: the child; what it becomes when the site is called
  uint32_t sites_used_ = 1, nodes_used_ = kNoContext + 1;
};

}  // namespace freehold::profile
