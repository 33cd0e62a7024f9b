//! One look at the store: what is due, grouped by workflow, brought into memory and decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use counterfoil_core::domain::Stream;
use counterfoil_core::domain::workflow::{InputKind, Program};
use counterfoil_core::port::Workflows;
use counterfoil_core::port::workflow::{DueInput, Standing};
use futures_util::StreamExt as _;

use super::load::{Loaded, Loader};
use super::work::{Decided, Due, From, Terms};
use super::{Failed, Looked, Work};

/// The inputs of one workflow, in order.
struct Group {
    stream: Stream,
    standing: Option<Standing>,
    inputs: Vec<DueInput>,
}

impl<S: Workflows> Work<S> {
    /// Takes what is due, decides it and commits it.
    pub(super) async fn look(&mut self) -> Result<Looked, Failed> {
        let due = match self.ahead.take() {
            Some(due) => due,
            None => {
                let due = self.store.due_inputs(self.from()).await;
                due.map_err(Failed::store("looking for inputs"))?
            }
        };
        let at = self.store.now().map_err(Failed::store("reading the clock"))?;
        let any_due = !due.is_empty();
        let groups = self.grouped(due);
        // Nothing of it can be decided: it would be told again at once.
        self.is_told_in_vain = any_due && groups.is_empty();
        if groups.is_empty() {
            let next = self.store.next_input(&self.all).await;
            let next = next.map_err(Failed::store("looking for the next input"))?;
            return Ok(Looked::Nothing { next, now: at });
        }
        let due = self.brought(groups).await?;
        let terms = Terms {
            owner: self.options.owner.clone(),
            lease: self.options.lease,
            snapshot_every: self.options.snapshot_every,
            at,
        };
        let decided = self.decider.run(move |marker| {
            due.into_iter().map(|due| due.decide(&terms, marker)).collect::<Vec<Decided>>()
        });
        let decided = decided.await.map_err(Failed::Lost)?;
        self.commit(decided).await?;
        Ok(Looked::Worked)
    }

    /// Inputs by workflow, in the order of the first of each.
    fn grouped(&self, due: Vec<DueInput>) -> Vec<Group> {
        let mut places: HashMap<Stream, usize> = HashMap::with_capacity(due.len());
        let mut groups: Vec<Group> = Vec::with_capacity(due.len());
        for mut input in due {
            let standing = input.standing.take();
            match places.entry(input.stream.clone()) {
                Entry::Occupied(place) => groups[*place.get()].inputs.push(input),
                Entry::Vacant(place) => {
                    let stream = input.stream.clone();
                    place.insert(groups.len());
                    groups.push(Group { stream, standing, inputs: vec![input] });
                }
            }
        }
        groups.retain_mut(|group| {
            if group.standing.is_none() {
                // The start comes first; without one, nothing of the workflow can be decided.
                group.inputs.sort_by_key(|input| input.kind != InputKind::Start);
            }
            if self.alone.contains_key(&group.stream) {
                group.inputs.truncate(1);
            }
            let first = group.inputs.first();
            group.standing.is_some() || first.is_some_and(|one| one.kind == InputKind::Start)
        });
        groups
    }

    /// The workflows in memory.
    async fn brought(&mut self, groups: Vec<Group>) -> Result<Vec<Due>, Failed> {
        let mut due = Vec::with_capacity(groups.len());
        let mut absent = Vec::new();
        for Group { stream, standing, inputs } in groups {
            let Some(Standing { program, head, status }) = standing else {
                due.extend(self.begun(stream, inputs));
                continue;
            };
            if status.has_ended() {
                due.push(Due { stream, program, head, inputs, from: From::Ended(status) });
                continue;
            }
            let cached = self.cache.take(&stream);
            let cached = cached.filter(|one| one.head == head && one.program == program);
            match cached {
                Some(instance) => {
                    let from = From::Memory(Box::new(instance), Vec::new());
                    due.push(Due { stream, program, head, inputs, from });
                }
                None => absent.push((stream, program, head, inputs)),
            }
        }
        if !absent.is_empty() {
            due.extend(self.loaded(absent).await?);
        }
        Ok(due)
    }

    fn begun(&self, stream: Stream, inputs: Vec<DueInput>) -> Option<Due> {
        let program = self.programs.newest(&inputs.first()?.name)?.clone();
        let code = self.programs.get(&program)?;
        Some(Due { stream, program, head: 0, inputs, from: From::Start(code) })
    }

    async fn loaded(
        &mut self,
        absent: Vec<(Stream, Program, i64, Vec<DueInput>)>,
    ) -> Result<Vec<Due>, Failed> {
        let count = absent.len();
        let loader = Loader {
            store: &self.store,
            programs: &self.programs,
            decider: &self.decider,
            observer: &*self.observer,
        };
        let loader = &loader;
        let loading = absent.into_iter().map(|(stream, program, head, inputs)| async move {
            let Loaded { instance, tail, events_read } =
                loader.load(&stream, &program, head).await?;
            let from = match instance {
                Ok(instance) => From::Memory(Box::new(instance), tail),
                Err(why) => From::Broken(why),
            };
            Ok((Due { stream, program, head, inputs, from }, events_read))
        });
        let mut loading = futures_util::stream::iter(loading).buffer_unordered(self.options.loads);
        let (mut due, mut events_read) = (Vec::with_capacity(count), 0);
        while let Some(loaded) = loading.next().await {
            let (one, read) = loaded?;
            events_read += read;
            due.push(one);
        }
        drop(loading);
        self.end.loads += count as u64;
        self.end.events_read += events_read;
        Ok(due)
    }
}
