//! The tree: nodes in one slab, literal edges in one table keyed by parent and token.
//!
//! A node is the end of some leading tokens. `*` is an edge of its own, `>` none at all: patterns
//! that end in `>` stand in the `tail` of the node before it.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::ticket::{NONE, Ticket};

/// The node of no tokens.
pub(super) const ROOT: u32 = 0;

#[derive(Clone)]
pub(super) struct Node {
    /// The keyed hash of the token.
    hash: u64,
    token: Box<str>,
    parent: u32,
    /// The child for `*`.
    pub star: u32,
    /// The first literal child; the others are chained from it.
    pub first: u32,
    next: u32,
    previous: u32,
    /// Patterns that end here, oldest first.
    pub exact: Vec<Ticket>,
    /// Patterns that end in `>` after here, oldest first.
    pub tail: Vec<Ticket>,
}

impl Node {
    fn new(hash: u64, token: &str, parent: u32) -> Self {
        Self {
            hash,
            token: token.into(),
            parent,
            star: NONE,
            first: NONE,
            next: NONE,
            previous: NONE,
            exact: Vec::new(),
            tail: Vec::new(),
        }
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    fn is_bare(&self) -> bool {
        self.star == NONE && self.first == NONE && self.exact.is_empty() && self.tail.is_empty()
    }
}

#[derive(Clone)]
pub(super) struct Nodes {
    slab: Vec<Node>,
    free: Vec<u32>,
    edges: HashTable<u32>,
    keys: RandomState,
}

/// Where the edge of a token from a parent is looked for.
fn edge(parent: u32, hash: u64) -> u64 {
    let mixed = hash ^ u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let wide = u128::from(mixed) * 0xd6e8_feb8_6659_fd93;
    #[allow(clippy::cast_possible_truncation)] // both halves are wanted
    let folded = (wide >> 64) as u64 ^ wide as u64;
    folded
}

impl Nodes {
    pub fn new() -> Self {
        Self {
            slab: vec![Node::new(0, "", NONE)],
            free: Vec::new(),
            edges: HashTable::new(),
            keys: RandomState::default(),
        }
    }

    pub fn get(&self, at: u32) -> &Node {
        &self.slab[at as usize]
    }

    pub fn list(&mut self, at: u32, tail: bool) -> &mut Vec<Ticket> {
        let node = &mut self.slab[at as usize];
        if tail {
            &mut node.tail
        } else {
            &mut node.exact
        }
    }

    /// Nodes below the root.
    pub fn count(&self) -> usize {
        self.slab.len() - self.free.len() - 1
    }

    /// Is there room for so many more nodes?
    pub fn has_room(&self, more: usize) -> bool {
        self.slab.len().saturating_add(more) < NONE as usize
    }

    /// Are most places in the slab empty?
    pub fn is_sparse(&self) -> bool {
        self.slab.len() > 64 && self.free.len() > self.slab.len() / 4 * 3
    }

    /// The keyed hash of a token.
    pub fn hash(&self, token: &[u8]) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write(token);
        hasher.finish()
    }

    /// The literal child for a token, or `NONE`.
    pub fn literal(&self, parent: u32, hash: u64, token: &[u8]) -> u32 {
        self.edges
            .find(edge(parent, hash), |&child| {
                let node = self.get(child);
                node.hash == hash && node.parent == parent && node.token.as_bytes() == token
            })
            .map_or(NONE, |&child| child)
    }

    /// All children: literals in no order, then `*`.
    pub fn children(&self, at: u32) -> impl Iterator<Item = u32> {
        let node = self.get(at);
        let there = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(there(node.first), move |&at| there(self.get(at).next))
            .chain(there(node.star))
    }

    /// Calls `visit` for every node under `at`, `at` itself left out.
    pub fn below(&self, at: u32, mut visit: impl FnMut(&Node)) {
        let mut waiting: Vec<u32> = self.children(at).collect();
        while let Some(at) = waiting.pop() {
            visit(self.get(at));
            waiting.extend(self.children(at));
        }
    }

    /// The pattern that ends at a node, or in `>` after it.
    pub fn path(&self, mut at: u32, tail: bool) -> String {
        let mut tokens = Vec::new();
        if tail {
            tokens.push(">");
        }
        while at != ROOT {
            let node = self.get(at);
            tokens.push(&*node.token);
            at = node.parent;
        }
        tokens.reverse();
        tokens.join(".")
    }

    /// The child for a token of a pattern, made if need be.
    pub fn child(&mut self, parent: u32, token: &str) -> u32 {
        if token == "*" {
            let star = self.get(parent).star;
            if star != NONE {
                return star;
            }
            let made = self.put(Node::new(0, token, parent));
            self.slab[parent as usize].star = made;
            return made;
        }
        let hash = self.hash(token.as_bytes());
        let found = self.literal(parent, hash, token.as_bytes());
        if found != NONE {
            return found;
        }
        let mut node = Node::new(hash, token, parent);
        let next = self.get(parent).first;
        node.next = next;
        let made = self.put(node);
        if next != NONE {
            self.slab[next as usize].previous = made;
        }
        self.slab[parent as usize].first = made;
        let slab = &self.slab;
        self.edges
            .insert_unique(edge(parent, hash), made, |&child| {
                let node = &slab[child as usize];
                edge(node.parent, node.hash)
            });
        made
    }

    fn put(&mut self, node: Node) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slab[at as usize] = node;
            return at;
        }
        self.slab.push(node);
        u32::try_from(self.slab.len() - 1).unwrap_or(NONE)
    }

    /// Takes out a node that nothing needs any more, and its parents likewise.
    pub fn prune(&mut self, mut at: u32) {
        while at != ROOT && self.get(at).is_bare() {
            let node = std::mem::replace(&mut self.slab[at as usize], Node::new(0, "", NONE));
            self.free.push(at);
            let parent = &mut self.slab[node.parent as usize];
            if parent.star == at {
                parent.star = NONE;
            } else {
                if parent.first == at {
                    parent.first = node.next;
                }
                self.unlink(at, &node);
            }
            at = node.parent;
        }
    }

    /// Takes a literal node out of its chain and out of the table.
    fn unlink(&mut self, at: u32, node: &Node) {
        if node.previous != NONE {
            self.slab[node.previous as usize].next = node.next;
        }
        if node.next != NONE {
            self.slab[node.next as usize].previous = node.previous;
        }
        let slab = &self.slab;
        let place = edge(node.parent, node.hash);
        let found = self.edges.entry(
            place,
            |&child| child == at,
            |&child| edge(slab[child as usize].parent, slab[child as usize].hash),
        );
        if let Entry::Occupied(found) = found {
            found.remove();
        }
    }

    pub fn memory(&self) -> usize {
        let lists: usize = self
            .slab
            .iter()
            .map(|node| {
                node.token.len()
                    + (node.exact.capacity() + node.tail.capacity()) * size_of::<Ticket>()
            })
            .sum();
        self.slab.capacity() * size_of::<Node>()
            + self.free.capacity() * size_of::<u32>()
            + self.edges.allocation_size()
            + lists
    }
}
