// A game-tree search: Connect Four to a fixed depth, alpha-beta, with a table of positions in any container of 64-bit words. The table is what an engine has as its one large array.
#pragma once

#include <cstddef>
#include <cstdint>

class ConnectFour {
 public:
  // The number of nodes visited, so that two tables can be compared.
  template <class Table>
  static std::uint64_t search(Table& table, int depth) {
    ConnectFour game;
    std::uint64_t nodes = 0;
    game.best(table, table.size() - 1, depth, -1000, 1000, nodes);
    return nodes;
  }

 private:
  static constexpr int kColumns = 7, kHeight = 7;  // the seventh row stays empty

  static bool wins(std::uint64_t stones) {
    for (int step : {1, kHeight, kHeight - 1, kHeight + 1}) {
      const std::uint64_t pairs = stones & (stones >> step);
      if ((pairs & (pairs >> (2 * step))) != 0) {
        return true;
      }
    }
    return false;
  }

  template <class Table>
  int best(Table& table, std::size_t mask, int depth, int alpha, int beta, std::uint64_t& nodes) {
    ++nodes;
    if (depth == 0) {
      return 0;
    }
    const std::uint64_t key = (own_ + (own_ | other_)) * 0x9E3779B97F4A7C15u;
    std::uint64_t& entry = table[static_cast<std::size_t>(key >> 20) & mask];
    // 48 bits of the key, 8 of the depth, 8 of the value.
    if ((entry >> 16) == (key >> 16) && static_cast<int>((entry >> 8) & 0xFF) == depth) {
      return static_cast<std::int8_t>(entry & 0xFF);
    }
    int value = -100;
    for (int column : {3, 2, 4, 1, 5, 0, 6}) {
      const std::uint64_t place = ((own_ | other_) + (std::uint64_t{1} << (column * kHeight))) & (std::uint64_t{0x7F} << (column * kHeight));
      if ((place & (std::uint64_t{0x40} << (column * kHeight))) != 0 || place == 0) {
        continue;
      }
      const std::uint64_t bit = place & ~(own_ | other_);
      const std::uint64_t own = own_ | bit, other = other_;
      if (wins(own)) {
        value = depth;
      } else {
        ConnectFour next;
        next.own_ = other;
        next.other_ = own;
        const int found = -next.best(table, mask, depth - 1, -beta, -alpha, nodes);
        value = found > value ? found : value;
      }
      alpha = value > alpha ? value : alpha;
      if (alpha >= beta) {
        break;
      }
    }
    value = value == -100 ? 0 : value;
    table[static_cast<std::size_t>(key >> 20) & mask] =
        (key & ~std::uint64_t{0xFFFF}) | (static_cast<std::uint64_t>(depth) << 8) | static_cast<std::uint8_t>(value);
    return value;
  }

  std::uint64_t own_ = 0;
  std::uint64_t other_ = 0;
};
