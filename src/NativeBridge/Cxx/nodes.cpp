// The functions of libstdc++ that std::map, std::set and std::list call out of line. They follow and change the pointers in nodes, so they are
// compiled with handles and linked into each program, in front of libstdc++'s own. What they do is laid down by the interface: nodes with a
// colour, a header whose parent is the root and whose left and right are the first and the last node.
#include <list>
#include <map>

namespace std {

namespace {

using Node = _Rb_tree_node_base;

bool is_red(const Node* node) { return node != nullptr && node->_M_color == _S_red; }

// `heir` takes the place of `node` below its parent.
void replace_child(Node* node, Node* heir, Node*& root) {
  if (node == root) {
    root = heir;
  } else if (node == node->_M_parent->_M_left) {
    node->_M_parent->_M_left = heir;
  } else {
    node->_M_parent->_M_right = heir;
  }
}

// Left: the right child goes up. Otherwise the mirror image.
void rotate(Node* down, bool left, Node*& root) {
  Node* up = left ? down->_M_right : down->_M_left;
  Node* inner = left ? up->_M_left : up->_M_right;
  (left ? down->_M_right : down->_M_left) = inner;
  if (inner != nullptr) inner->_M_parent = down;
  up->_M_parent = down->_M_parent;
  replace_child(down, up, root);
  (left ? up->_M_left : up->_M_right) = down;
  down->_M_parent = up;
}

Node* leftmost(Node* node) {
  while (node->_M_left != nullptr) node = node->_M_left;
  return node;
}
Node* rightmost(Node* node) {
  while (node->_M_right != nullptr) node = node->_M_right;
  return node;
}

Node* after(Node* node) {
  if (node->_M_right != nullptr) return leftmost(node->_M_right);
  Node* parent = node->_M_parent;
  while (node == parent->_M_right) {
    node = parent;
    parent = parent->_M_parent;
  }
  // The header, when the root has no right child: its parent is the root, and the root's is the header.
  return node->_M_right != parent ? parent : node;
}

Node* before(Node* node) {
  // The header: red, and its grandparent is itself.
  if (node->_M_color == _S_red && node->_M_parent->_M_parent == node) return node->_M_right;
  if (node->_M_left != nullptr) return rightmost(node->_M_left);
  Node* parent = node->_M_parent;
  while (node == parent->_M_left) {
    node = parent;
    parent = parent->_M_parent;
  }
  return parent;
}

}  // namespace

_Rb_tree_node_base* _Rb_tree_increment(_Rb_tree_node_base* node) throw() { return after(node); }
const _Rb_tree_node_base* _Rb_tree_increment(const _Rb_tree_node_base* node) throw() { return after(const_cast<Node*>(node)); }
_Rb_tree_node_base* _Rb_tree_decrement(_Rb_tree_node_base* node) throw() { return before(node); }
const _Rb_tree_node_base* _Rb_tree_decrement(const _Rb_tree_node_base* node) throw() { return before(const_cast<Node*>(node)); }

void _Rb_tree_insert_and_rebalance(const bool insert_left, _Rb_tree_node_base* node, _Rb_tree_node_base* parent, _Rb_tree_node_base& header) throw() {
  Node*& root = header._M_parent;
  node->_M_parent = parent;
  node->_M_left = node->_M_right = nullptr;
  node->_M_color = _S_red;
  if (insert_left) {
    parent->_M_left = node;  // of the header too: the first node
    if (parent == &header) {
      header._M_parent = node;
      header._M_right = node;
    } else if (parent == header._M_left) {
      header._M_left = node;
    }
  } else {
    parent->_M_right = node;
    if (parent == header._M_right) header._M_right = node;
  }
  // No red node has a red parent.
  while (node != root && is_red(node->_M_parent)) {
    Node* grand = node->_M_parent->_M_parent;
    bool left = node->_M_parent == grand->_M_left;
    Node* uncle = left ? grand->_M_right : grand->_M_left;
    if (is_red(uncle)) {
      node->_M_parent->_M_color = uncle->_M_color = _S_black;
      grand->_M_color = _S_red;
      node = grand;
      continue;
    }
    if (node == (left ? node->_M_parent->_M_right : node->_M_parent->_M_left)) {
      node = node->_M_parent;
      rotate(node, left, root);
    }
    node->_M_parent->_M_color = _S_black;
    grand->_M_color = _S_red;
    rotate(grand, !left, root);
  }
  root->_M_color = _S_black;
}

// Returns the node that is out of the tree: always the one that was given.
_Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base* const node, _Rb_tree_node_base& header) throw() {
  Node*& root = header._M_parent;
  Node* child;         // takes the place where the tree gets shorter
  Node* child_parent;  // of child, which may be null
  _Rb_tree_color lost;
  if (node->_M_left != nullptr && node->_M_right != nullptr) {
    // The next node moves to the node's place, and leaves a hole with one child at most.
    Node* next = leftmost(node->_M_right);
    lost = next->_M_color;
    child = next->_M_right;
    if (next == node->_M_right) {
      child_parent = next;
    } else {
      child_parent = next->_M_parent;
      child_parent->_M_left = child;
      if (child != nullptr) child->_M_parent = child_parent;
      next->_M_right = node->_M_right;
      next->_M_right->_M_parent = next;
    }
    next->_M_left = node->_M_left;
    next->_M_left->_M_parent = next;
    replace_child(node, next, root);
    next->_M_parent = node->_M_parent;
    next->_M_color = node->_M_color;
    node->_M_color = lost;
  } else {
    child = node->_M_left != nullptr ? node->_M_left : node->_M_right;
    child_parent = node->_M_parent;
    lost = node->_M_color;
    if (child != nullptr) child->_M_parent = child_parent;
    replace_child(node, child, root);
    if (header._M_left == node) header._M_left = child != nullptr ? leftmost(child) : child_parent;
    if (header._M_right == node) header._M_right = child != nullptr ? rightmost(child) : child_parent;
  }
  if (lost == _S_red) return node;
  // Paths through child have one black node too few.
  while (child != root && !is_red(child)) {
    bool left = child == child_parent->_M_left;
    Node* sibling = left ? child_parent->_M_right : child_parent->_M_left;
    if (is_red(sibling)) {
      sibling->_M_color = _S_black;
      child_parent->_M_color = _S_red;
      rotate(child_parent, left, root);
      sibling = left ? child_parent->_M_right : child_parent->_M_left;
    }
    Node* near = left ? sibling->_M_left : sibling->_M_right;
    Node* far = left ? sibling->_M_right : sibling->_M_left;
    if (!is_red(near) && !is_red(far)) {
      sibling->_M_color = _S_red;
      child = child_parent;
      child_parent = child_parent->_M_parent;
      continue;
    }
    if (!is_red(far)) {
      near->_M_color = _S_black;
      sibling->_M_color = _S_red;
      rotate(sibling, !left, root);
      sibling = left ? child_parent->_M_right : child_parent->_M_left;
      far = left ? sibling->_M_right : sibling->_M_left;
    }
    sibling->_M_color = child_parent->_M_color;
    child_parent->_M_color = _S_black;
    far->_M_color = _S_black;
    rotate(child_parent, left, root);
    child = root;
    break;
  }
  if (child != nullptr) child->_M_color = _S_black;
  return node;
}

namespace __detail {

void _List_node_base::_M_hook(_List_node_base* const position) noexcept {
  _M_next = position;
  _M_prev = position->_M_prev;
  position->_M_prev->_M_next = this;
  position->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
  _M_prev->_M_next = _M_next;
  _M_next->_M_prev = _M_prev;
}

void _List_node_base::_M_transfer(_List_node_base* const first, _List_node_base* const last) noexcept {
  if (this == last) return;
  _List_node_base* end = last->_M_prev;
  last->_M_prev = first->_M_prev;
  first->_M_prev->_M_next = last;
  first->_M_prev = _M_prev;
  _M_prev->_M_next = first;
  end->_M_next = this;
  _M_prev = end;
}

void _List_node_base::_M_reverse() noexcept {
  _List_node_base* node = this;
  do {
    std::swap(node->_M_next, node->_M_prev);
    node = node->_M_prev;  // what was the next one
  } while (node != this);
}

void _List_node_base::swap(_List_node_base& one, _List_node_base& other) noexcept {
  bool one_empty = one._M_next == &one, other_empty = other._M_next == &other;
  std::swap(one._M_next, other._M_next);
  std::swap(one._M_prev, other._M_prev);
  auto settle = [](_List_node_base& list, bool empty) {
    if (empty) {
      list._M_next = list._M_prev = &list;
    } else {
      list._M_next->_M_prev = list._M_prev->_M_next = &list;
    }
  };
  settle(one, other_empty);
  settle(other, one_empty);
}

}  // namespace __detail
}  // namespace std
