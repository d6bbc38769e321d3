//! The plan of a bulk load: which nodes a trie of these patterns has.
//!
//! Nothing is stored, so the parts below the root are planned side by side.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::leaf_entries::SPLIT_LEAF_ABOVE;
use super::leaf_split::have_different_tokens;
use super::random_sample::random_sample;
use super::select_positions::{SAMPLE_SIZE, select_positions};
use crate::parallel::map_parts;
use crate::trie::address::BlockAddr;
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::node::{Branch, LeafEntry};
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};
use crate::trie::storage::probe_table::ProbeLimitExceeded;

/// The node key and the row of each distinct pattern.
type PlannedNode = (u64, u32);

/// A load reads each pattern so many times on average, at most: once for each branch above it. Sets in
/// which every branch tells only a few patterns from the others are inserted one by one instead, for
/// which they are no harder than others. Higher spends more before it gives up; the patterns of a
/// deployment are read three to five times.
const MAX_PASSES: usize = 32;

/// Children of the root that are planned by several threads. Fewer may differ much in size, and few
/// patterns take less time than a thread takes to start.
const PARALLEL_FROM: usize = 256;

/// Rows that are divided by several threads. Fewer take less time than a thread takes to start.
const PARALLEL_ROWS: usize = 4096;

/// The bulk load is aborted, and the rows are inserted one by one: patterns are read too often, or
/// keys cluster as chance does not make them.
pub(super) struct BulkLoadAborted;

impl From<ProbeLimitExceeded> for BulkLoadAborted {
    fn from(_: ProbeLimitExceeded) -> Self {
        Self
    }
}

/// A node that is to be made.
#[derive(Clone, Copy)]
pub(super) enum NodePlan {
    Branch(Branch),
    /// A leaf of so many of the rows.
    Leaf(usize),
    /// A leaf of so many of the rows, which no position divides.
    Undivided(usize),
}

/// Nodes that are to be made, in this order.
#[derive(Default)]
pub(super) struct Plan {
    pub nodes: Vec<(NodeKey, NodePlan)>,
    /// The rows of all leaves, one leaf's after another's, and their entries without an address.
    pub rows: Vec<(u32, LeafEntry)>,
    /// Rows, each with the next one that has the same pattern.
    pub same: Vec<(u32, u32)>,
}

impl Plan {
    /// The entries that the nodes take in the hash table, at most.
    pub fn nodes_in_table(&self) -> usize {
        let is_branch = |(_, node): &&(NodeKey, NodePlan)| matches!(node, NodePlan::Branch(_));
        self.rows.len() + self.nodes.iter().filter(is_branch).count()
    }
}

/// Rows whose patterns are below one node.
#[derive(Clone, Copy)]
struct RowGroup {
    key: NodeKey,
    start: usize,
    end: usize,
    /// Whether no two of them have the same pattern.
    distinct: bool,
}

/// The state of the planner.
struct Planner<'a> {
    hasher: &'a TokenHasher,
    patterns: &'a [&'a str],
    places: Vec<PlannedNode>,
    groups: Vec<RowGroup>,
    parsed: Vec<ParsedPattern>,
    /// The patterns that may still be read.
    budget: usize,
    plan: Plan,
}

/// Plans a trie of these patterns, whose root is this branch if there is one.
pub(super) fn plan(
    hasher: &TokenHasher,
    root: Option<Branch>,
    patterns: &[&str],
) -> Result<Vec<Plan>, BulkLoadAborted> {
    let Some(root) = root else {
        let places = (0u32..).zip(patterns).map(|(row, _)| (0, row)).collect();
        let mut planner = Planner::new(hasher, patterns, places);
        planner.groups.push(RowGroup {
            key: hasher.root(),
            start: 0,
            end: patterns.len(),
            distinct: false,
        });
        return Ok(vec![planner.run()?]);
    };
    let (root, places) = divide_root(hasher, root, patterns);
    let plan = Plan {
        nodes: vec![(hasher.root(), NodePlan::Branch(root))],
        ..Plan::default()
    };
    let (places, groups) = in_order_of_rows(&places);
    let plans = map_parts(&groups, PARALLEL_FROM, |groups| {
        let (Some(first), Some(last)) = (groups.first(), groups.last()) else {
            return Ok(Plan::default());
        };
        // The children of the root have their places in the order of the groups.
        let offset = first.start;
        let places = places[offset..last.end].to_vec();
        let mut planner = Planner::new(hasher, patterns, places);
        // The last one is planned first.
        planner
            .groups
            .extend(groups.iter().rev().map(|group| RowGroup {
                start: group.start - offset,
                end: group.end - offset,
                ..*group
            }));
        planner.run()
    });
    std::iter::once(Ok(plan)).chain(plans).collect()
}

/// The root, and the rows by its children; by several threads.
#[allow(clippy::stable_sort_primitive)] // it merges parts that are sorted, in linear time
fn divide_root(
    hasher: &TokenHasher,
    root: Branch,
    patterns: &[&str],
) -> (Branch, Vec<PlannedNode>) {
    let rows: Vec<(u32, &str)> = (0..).zip(patterns.iter().copied()).collect();
    let parts = map_parts(&rows, PARALLEL_ROWS, |rows| {
        let (mut branch, mut parsed) = (root, ParsedPattern::default());
        let place = |&(row, pattern): &(u32, &str)| {
            parsed.parse(|text| text.extend_from_slice(pattern.as_bytes()));
            let child = parsed.child(hasher, root, hasher.root());
            (child_of(child, &parsed, &mut branch).0, row)
        };
        let mut places: Vec<PlannedNode> = rows.iter().map(place).collect();
        places.sort_unstable();
        (branch, places)
    });
    let branch = parts
        .iter()
        .fold(root, |all, (branch, _)| all.with_rest_of(*branch));
    let mut places: Vec<PlannedNode> = parts.into_iter().flat_map(|(_, places)| places).collect();
    places.sort();
    (branch, places)
}

/// The groups of rows with one key, ordered by their first rows, and the rows of each group.
///
/// Rows that are listed together are often in groups that then follow one another, so their texts
/// are still in the cache when they are read again.
fn in_order_of_rows(places: &[PlannedNode]) -> (Vec<PlannedNode>, Vec<RowGroup>) {
    let mut children: Vec<&[PlannedNode]> =
        places.chunk_by(|one, other| one.0 == other.0).collect();
    children.sort_unstable_by_key(|child| child[0].1);
    let mut ordered = Vec::with_capacity(places.len());
    let mut groups = Vec::with_capacity(children.len());
    for child in children {
        groups.push(RowGroup {
            key: NodeKey(child[0].0),
            start: ordered.len(),
            end: ordered.len() + child.len(),
            distinct: false,
        });
        ordered.extend_from_slice(child);
    }
    (ordered, groups)
}

impl<'a> Planner<'a> {
    fn new(hasher: &'a TokenHasher, patterns: &'a [&'a str], places: Vec<PlannedNode>) -> Self {
        Self {
            hasher,
            patterns,
            budget: places.len() * MAX_PASSES,
            places,
            groups: Vec::new(),
            parsed: Vec::new(),
            plan: Plan::default(),
        }
    }

    fn run(mut self) -> Result<Plan, BulkLoadAborted> {
        let hasher = RandomState::default();
        while let Some(mut group) = self.groups.pop() {
            let count = group.end - group.start;
            self.budget = self.budget.checked_sub(count).ok_or(BulkLoadAborted)?;
            if !group.distinct {
                self.merge_equal(&mut group, &hasher);
            }
            self.build(&group)?;
        }
        Ok(self.plan)
    }

    fn parse(&mut self, at: usize, row: u32) {
        if at == self.parsed.len() {
            self.parsed.push(ParsedPattern::default());
        }
        let pattern = self.patterns[row as usize].as_bytes();
        self.parsed[at].parse(|text| text.extend_from_slice(pattern));
    }

    /// Chains the rows with one pattern, and keeps the first of them in the group.
    fn merge_equal(&mut self, group: &mut RowGroup, hasher: &RandomState) {
        group.distinct = true;
        if group.end - group.start == 1 {
            return;
        }
        let patterns = self.patterns;
        let places = &mut self.places[group.start..group.end];
        for (key, row) in &mut *places {
            *key = hasher.hash_one(patterns[*row as usize].as_bytes());
        }
        places.sort_unstable();
        let mut kept = 0;
        // The first of the rows kept with the present hash, and the last row of each chain.
        let mut ends: Vec<(usize, u32)> = Vec::new();
        for at in 0..places.len() {
            let (hash, row) = places[at];
            let pattern = patterns[row as usize];
            if kept == 0 || places[kept - 1].0 != hash {
                ends.clear();
            }
            let is_same = |end: &&mut (usize, u32)| patterns[places[end.0].1 as usize] == pattern;
            if let Some((_, last)) = ends.iter_mut().find(is_same) {
                self.plan.same.push((*last, row));
                *last = row;
                continue;
            }
            ends.push((kept, row));
            places[kept] = (hash, row);
            kept += 1;
        }
        group.end = group.start + kept;
    }

    /// Makes a group of different patterns a leaf or a branch.
    fn build(&mut self, group: &RowGroup) -> Result<(), BulkLoadAborted> {
        let &RowGroup {
            key, start, end, ..
        } = group;
        let count = end - start;
        if count <= SAMPLE_SIZE {
            for at in 0..count {
                self.parse(at, self.places[start + at].1);
            }
        } else {
            let rows = random_sample(start..end, count, SAMPLE_SIZE);
            for (at, place) in rows.collect::<Vec<_>>().into_iter().enumerate() {
                self.parse(at, self.places[place].1);
            }
        }
        if count <= SPLIT_LEAF_ABOVE {
            self.plan_leaf(key, start, 0..count);
            return Ok(());
        }
        let parsed = &self.parsed[..count.min(SAMPLE_SIZE)];
        let weight = count.div_ceil(parsed.len());
        let Some(branch) = select_positions(parsed, weight, self.hasher) else {
            // As for a leaf that is split: patterns with equal hashes stay together.
            if !self.hasher.strong && have_different_tokens(parsed) {
                return Err(BulkLoadAborted);
            }
            self.plan_undivided(key, start, count);
            return Ok(());
        };
        if count > SAMPLE_SIZE {
            self.divide_large(group, branch);
            return Ok(());
        }
        let hasher = self.hasher;
        let mut branch = branch;
        let mut children: Vec<(u64, u32, usize)> = Vec::with_capacity(count);
        for (at, parsed) in parsed.iter().enumerate() {
            let child = child_of(parsed.child(hasher, branch, key), parsed, &mut branch);
            children.push((child.0, self.places[start + at].1, at));
        }
        self.plan.nodes.push((key, NodePlan::Branch(branch)));
        children.sort_unstable();
        let mut first = start;
        for child in children.chunk_by(|one, other| one.0 == other.0) {
            for (at, &(key, row, _)) in (first..).zip(child) {
                self.places[at] = (key, row);
            }
            let key = NodeKey(child[0].0);
            if child.len() <= SPLIT_LEAF_ABOVE {
                self.plan_leaf(key, first, child.iter().map(|&(_, _, at)| at));
            } else {
                self.groups.push(RowGroup {
                    key,
                    start: first,
                    end: first + child.len(),
                    distinct: true,
                });
            }
            first += child.len();
        }
        Ok(())
    }

    /// Divides a group among the children of a branch, parsing one pattern at a time.
    fn divide_large(&mut self, group: &RowGroup, mut branch: Branch) {
        for at in group.start..group.end {
            self.parse(0, self.places[at].1);
            let parsed = &self.parsed[0];
            let child = parsed.child(self.hasher, branch, group.key);
            self.places[at].0 = child_of(child, parsed, &mut branch).0;
        }
        self.plan.nodes.push((group.key, NodePlan::Branch(branch)));
        let places = &mut self.places[group.start..group.end];
        places.sort_unstable();
        let mut start = group.start;
        for child in places.chunk_by(|one, other| one.0 == other.0) {
            self.groups.push(RowGroup {
                key: NodeKey(child[0].0),
                start,
                end: start + child.len(),
                distinct: true,
            });
            start += child.len();
        }
    }

    /// Makes the rows from a place on, parsed at these positions in `parsed`, a leaf.
    fn plan_leaf(&mut self, key: NodeKey, start: usize, parsed: impl Iterator<Item = usize>) {
        let before = self.plan.rows.len();
        for (&(_, row), parsed) in self.places[start..].iter().zip(parsed) {
            let entry = self.parsed[parsed].leaf_entry(self.hasher, BlockAddr::NONE);
            self.plan.rows.push((row, entry));
        }
        let count = self.plan.rows.len() - before;
        self.plan.nodes.push((key, NodePlan::Leaf(count)));
    }

    /// Makes rows a leaf that no position divides.
    fn plan_undivided(&mut self, key: NodeKey, start: usize, count: usize) {
        for place in start..start + count {
            let row = self.places[place].1;
            self.parse(0, row);
            let entry = self.parsed[0].leaf_entry(self.hasher, BlockAddr::NONE);
            self.plan.rows.push((row, entry));
        }
        self.plan.nodes.push((key, NodePlan::Undivided(count)));
    }
}

/// The key of a child. Extends the length range of the rest child if the pattern is below it.
fn child_of(child: Child, parsed: &ParsedPattern, branch: &mut Branch) -> NodeKey {
    match child {
        Child::Literal(key) => key,
        Child::Rest(key) => {
            *branch = branch.with_rest(parsed.count(), parsed.has_tail());
            key
        }
    }
}
