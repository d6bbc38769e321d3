//! Bulk load into an empty index: the trie is built from the root down.
//!
//! One by one, a pattern descends to its leaf, and a leaf that is full is split by what it has then.
//! Here each branch is selected once, with all its patterns in view, and each pattern is stored
//! beside those of its leaf. What the nodes are is planned first, for the parts of the trie side by
//! side (`load_plan.rs`); then the plans are carried out one after another.

use super::Cursor;
use super::leaf_entries::IN_TABLE_UP_TO;
use super::leaf_split::MIN_BULK_LOAD;
use super::load_plan::{BulkLoadAborted, NodePlan, Plan, plan};
use crate::trie::address::Slot;
use crate::trie::hash::NodeKey;
use crate::trie::index::Index;
use crate::trie::node::LeafEntry;
use crate::trie::pattern::packed_pattern::{pack_into, set_list_ends};
use crate::trie::prefetch::prefetch;
use crate::trie::storage::hash_table::HashTable;

/// The end of a list of rows.
const NO_ROW: u32 = u32::MAX;

/// Nodes by which the place of a node in the table is prefetched before it is stored there. Fewer do
/// not cover the time that memory takes, many more are evicted again.
const AHEAD: usize = 12;

/// The state of a bulk load.
struct Load<'a> {
    index: &'a mut Index,
    patterns: &'a [&'a str],
    ids: &'a dyn Fn(usize) -> u64,
    /// The next row with the same pattern.
    same: Vec<u32>,
    /// The packed pattern that is stored.
    block: Vec<u64>,
}

impl Index {
    /// Inserts valid patterns in ascending order of reserved ids. `row` gives the id of each, its
    /// queue name, and the turns of the group that it leads.
    pub fn insert_all<'a>(
        &mut self,
        patterns: &[&str],
        row: impl Fn(usize) -> (u64, Option<&'a str>, u64),
    ) {
        self.prepare_bulk_load(patterns.iter().copied());
        if self.is_empty() && patterns.len() >= MIN_BULK_LOAD {
            if self.load(patterns, &row).is_ok() {
                return;
            }
            self.clear();
        }
        for (at, pattern) in patterns.iter().enumerate() {
            let (id, queue, turn) = row(at);
            self.insert_reserved(id, pattern, queue, turn);
        }
    }

    /// Fills an empty index. If it gives up, the index is to be cleared.
    fn load<'a>(
        &mut self,
        patterns: &[&str],
        row: &impl Fn(usize) -> (u64, Option<&'a str>, u64),
    ) -> Result<(), BulkLoadAborted> {
        let index = self;
        for at in 0..patterns.len() {
            let (id, queue, turn) = row(at);
            index.store_record(id, queue, turn);
        }
        let plans = plan(&index.hasher, index.root.branch(), patterns)?;
        // The entries of leaves, and the branches; a little more, so that the next insert does not replace
        // the table.
        let nodes: usize = plans.iter().map(Plan::nodes_in_table).sum();
        index.nodes = HashTable::with_room(nodes + nodes / 32);
        let ids = |at: usize| row(at).0;
        let mut load = Load {
            index,
            patterns,
            ids: &ids,
            same: vec![NO_ROW; patterns.len()],
            block: Vec::new(),
        };
        plans.iter().try_for_each(|plan| load.carry_out(plan))?;
        Ok(())
    }
}

impl Load<'_> {
    fn carry_out(&mut self, plan: &Plan) -> Result<(), BulkLoadAborted> {
        for &(row, next) in &plan.same {
            self.same[row as usize] = next;
        }
        let mut rows = plan.rows.as_slice();
        for (at, &(key, node)) in plan.nodes.iter().enumerate() {
            if let Some(&(later, _)) = plan.nodes.get(at + AHEAD) {
                prefetch(self.index.nodes.first_probe(later));
            }
            match node {
                NodePlan::Branch(branch) => {
                    // The root may have been selected before.
                    let is_new = self.index.node_at(key).branch().is_none();
                    self.index.branch_count += usize::from(is_new);
                    self.index.set_node(key, branch.node())?;
                }
                NodePlan::Leaf(count) => {
                    let (leaf, others) = rows.split_at(count);
                    rows = others;
                    self.place_leaf(key, leaf)?;
                }
                NodePlan::Undivided(count) => {
                    let (leaf, others) = rows.split_at(count);
                    rows = others;
                    self.place_undivided(key, leaf)?;
                }
            }
        }
        Ok(())
    }

    /// Makes rows a leaf, whose entries are in the table.
    fn place_leaf(
        &mut self,
        key: NodeKey,
        rows: &[(u32, LeafEntry)],
    ) -> Result<(), BulkLoadAborted> {
        if key == self.index.hasher.root() {
            return self.place_undivided(key, rows);
        }
        for &row in rows {
            let entry = self.store(row);
            self.index.nodes.insert(key, entry.node())?;
        }
        Ok(())
    }

    /// Makes rows a leaf of the root, or one that no position divides.
    fn place_undivided(
        &mut self,
        key: NodeKey,
        rows: &[(u32, LeafEntry)],
    ) -> Result<(), BulkLoadAborted> {
        let entries: Vec<LeafEntry> = rows.iter().map(|&row| self.store(row)).collect();
        if let [entry] = entries[..] {
            return Ok(self.index.set_node(key, entry.node())?);
        }
        if key == self.index.hasher.root() || entries.len() > IN_TABLE_UP_TO {
            let bucket = self.index.leaves.insert(key, &entries);
            return Ok(self.index.set_node(key, bucket.node())?);
        }
        for entry in entries {
            let node = self.index.node_at(key);
            self.index
                .add_to_leaf(&Cursor { key, node }, entry, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Stores the pattern of a row with its subscriptions, and returns its leaf entry.
    fn store(&mut self, (first, entry): (u32, LeafEntry)) -> LeafEntry {
        let index = &mut *self.index;
        pack_into(self.patterns[first as usize].as_bytes(), &mut self.block);
        // A slot is the number of its row, as the index was empty.
        let rows = || {
            let next = |&row: &u32| Some(self.same[row as usize]).filter(|&row| row != NO_ROW);
            std::iter::successors(Some(first), next)
        };
        let last = Slot(rows().last().unwrap_or(first));
        set_list_ends(
            &mut self.block,
            Slot(first),
            last,
            (self.ids)(first as usize),
        );
        let address = index.patterns.insert(&self.block);
        let number = index.pattern_table.acquire(address);
        index.pattern_count += 1;
        let mut previous = Slot::NONE;
        for row in rows() {
            let slot = Slot(row);
            if let Some(record) = index.subscriptions.get_mut(previous) {
                record.next = slot;
            }
            if let Some(record) = index.subscriptions.get_mut(slot) {
                (record.previous, record.pattern) = (previous, number);
            }
            previous = slot;
        }
        entry.with_pattern(address)
    }
}

#[cfg(test)]
mod tests;
