// Groups of a heap profile (Grouping/groups_file.h) in the program. The thread has a word, __freehold_group_state: a bit for each marked call site, and the number of the
// group of the allocation that is under way. A marked call has its bit set while it runs; an allocation that some group may want tests the bits, and has the number
// of the group set. Behind the call the word is what it was before.
//
// So between calls it is what it was when the function was entered. That is what a handler of exceptions and a second return of setjmp restore.
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <optional>
#include <set>

#include "../Grouping/groups_file.h"
#include "call_sites.h"
#include "passes.h"

using namespace llvm;

namespace freehold::call_sites {

namespace {

using grouping::kMostBits;

struct Wanted {
  int bit = -1;
  // For an allocation: bits that must be set, and the group, from 1; the first that fits.
  std::vector<std::pair<uint64_t, uint32_t>> groups;
};

// By the names of sites and functions.
class Groups {
 public:
  explicit Groups(const grouping::GroupsFile& file) {
    for (size_t i = 0; i < file.sites.size(); i++) {
      functions_[file.sites[i].function()].push_back(file.sites[i]);
      if (file.bits[i] >= 0) wanted_[file.sites[i].name].bit = file.bits[i];
    }
    for (uint32_t group = 0; group < file.groups.size(); group++) {
      for (const grouping::Conjunction& one : file.groups[group].any_of) {
        uint64_t bits = 0;
        for (uint32_t site : one.marked) {
          bits |= uint64_t{1} << file.bits[site];
          users_[file.sites[site].name].insert(group + 1);
        }
        wanted_[file.sites[one.allocation].name].groups.push_back({bits, group + 1});
        users_[file.sites[one.allocation].name].insert(group + 1);
      }
    }
  }

  const Wanted* wanted_at(const std::string& site) const {
    auto found = wanted_.find(site);
    return found == wanted_.end() ? nullptr : &found->second;
  }
  const std::vector<grouping::Site>* sites_in(const std::string& function) const {
    auto found = functions_.find(function);
    return found == functions_.end() ? nullptr : &found->second;
  }
  std::string users_of(const std::string& site) const {
    std::string text;
    if (auto found = users_.find(site); found != users_.end()) {
      for (uint32_t group : found->second) text += (text.empty() ? "" : ", ") + std::to_string(group);
    }
    return text.empty() ? "none" : text;
  }

 private:
  std::map<std::string, Wanted> wanted_;
  std::map<std::string, std::vector<grouping::Site>> functions_;
  std::map<std::string, std::set<uint32_t>> users_;
};

void warn(const Function& function, const Twine& what) {
  function.getContext().diagnose(DiagnosticInfoUnsupported(function, "freehold: " + what, DiagnosticLocation(function.getSubprogram()), DS_Warning));
}

Value* state_of(IRBuilderBase& builder) { return thread_variable(builder, "__freehold_group_state", builder.getInt64Ty()); }

void mark(CallBase& call, const Wanted& wanted) {
  if (!wanted.groups.empty()) forget_what_it_is(call);
  IRBuilder<> builder(&call);
  Value* before = builder.CreateLoad(builder.getInt64Ty(), state_of(builder));
  Value* state = before;
  if (!wanted.groups.empty()) {
    Value* group = builder.getInt64(0);
    for (auto one = wanted.groups.rbegin(); one != wanted.groups.rend(); ++one) {
      Value* number = builder.getInt64(uint64_t{one->second} << kMostBits);
      Value* all = builder.getInt64(one->first);
      group = one->first == 0 ? number : builder.CreateSelect(builder.CreateICmpEQ(builder.CreateAnd(before, all), all), number, group);
    }
    state = builder.CreateOr(builder.CreateAnd(before, builder.getInt64((uint64_t{1} << kMostBits) - 1)), group);
  }
  if (wanted.bit >= 0) state = builder.CreateOr(state, builder.getInt64(uint64_t{1} << wanted.bit));
  builder.CreateStore(state, state_of(builder));
  IRBuilder<> after(behind(call));
  after.CreateStore(before, state_of(after));
}

// Where the function goes on although calls in it have not returned.
void restore(Function& function, ArrayRef<Instruction*> places) {
  IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  Value* entered = builder.CreateLoad(builder.getInt64Ty(), state_of(builder));
  for (Instruction* place : places) {
    IRBuilder<> there(place);
    there.CreateStore(entered, state_of(there));
  }
}

// The sites of the function that the profile means are the ones that are there. Else it is said which groups lose them.
bool fits(const Function& function, const FunctionSites& sites, const Groups& groups) {
  const std::vector<grouping::Site>* known = groups.sites_in(sites.name);
  if (known == nullptr) return false;
  for (const grouping::Site& site : *known) {
    if (site.shape == sites.shape) continue;
    std::string lost;
    for (const grouping::Site& one : *known) lost += " '" + one.name + "' (groups: " + groups.users_of(one.name) + ")";
    warn(function, "the profile does not fit '" + sites.name + "', whose calls have changed since; dropped:" + lost);
    return false;
  }
  return true;
}

const Groups* load(const std::string& path, LLVMContext& context) {
  static std::map<std::string, std::optional<Groups>> loaded;
  auto [found, is_new] = loaded.emplace(path, std::nullopt);
  if (is_new) {
    grouping::GroupsFile file;
    std::string error;
    if (grouping::read_groups(path, &file, &error)) {
      found->second.emplace(file);
    } else {
      context.emitError("freehold: -fheap-groups: " + error);
    }
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

}  // namespace

PreservedAnalyses GroupsPass::run(Module& module, ModuleAnalysisManager&) {
  const Groups* groups = load(path, module.getContext());
  if (groups == nullptr) return PreservedAnalyses::all();
  bool changed = false;
  for (Function& function : module) {
    if (is_left_alone(function)) continue;
    FunctionSites sites = sites_of(function);
    SmallVector<std::pair<CallBase*, const Wanted*>, 8> marked;
    bool knows = fits(function, sites, *groups);
    SmallVector<Instruction*, 4> places;
    for (Instruction& instruction : instructions(function)) {
      auto* pad = dyn_cast<LandingPadInst>(&instruction);
      // Cleanups go on to a handler, or out of the function.
      if (pad != nullptr && pad->getNumClauses() != 0) places.push_back(pad->getNextNode());
    }
    for (auto& [call, name] : sites.names) {
      if (call->hasFnAttr(Attribute::ReturnsTwice)) places.push_back(behind(*call));
      const Wanted* wanted = knows ? groups->wanted_at(name) : nullptr;
      if (wanted == nullptr) continue;
      if (call->isMustTailCall()) {
        warn(function, "'" + name + "' is a guaranteed tail call, behind which nothing can be reset; dropped (groups: " + groups->users_of(name) + ")");
      } else {
        marked.push_back({call, wanted});
      }
    }
    for (auto& [call, wanted] : marked) mark(*call, *wanted);
    // A coroutine may go on in another thread, whose word is another one.
    if (!places.empty() && !function.isPresplitCoroutine()) restore(function, places);
    changed |= !marked.empty() || !places.empty();
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace freehold::call_sites
