//! Which commands a package has, and which of them change something without a person's word: what an update must not change unsaid. Knows
//! what is declared, and asks no component.

use crate::answers::{Changes, Names};
use crate::refusal::fault::Fault;
use hutch::package::Package;
use hutch_model::contract::Effect;
use hutch_model::gate::Gate;
use std::collections::{BTreeMap, BTreeSet};

/// What stands before the command that a person is to let go unconfirmed.
const UNCONFIRMED: &str = "unconfirmed:";

/// The commands of a package.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Each, with the most that it does; what nobody describes may do anything.
    commands: BTreeMap<String, Effect>,
    /// Those that a person must confirm, by the manifest or by the description.
    declared: BTreeSet<String>,
    /// Those, and whatever is confirmed because it may be one of them with words behind it.
    confirmed: BTreeSet<String>,
    /// Whether nothing says which commands there are, so that any word may be one.
    open: bool,
}

impl Commands {
    pub(super) fn of(package: &Package) -> Result<Commands, Fault> {
        let manifest = package.manifest();
        let contract = package.contract()?.map(|file| file.contract());
        let described = contract.map(|contract| contract.commands.as_slice()).unwrap_or_default();
        let listed = manifest.commands().iter().map(|path| (path.to_string(), Effect::Delete));
        let commands: BTreeMap<String, Effect> =
            listed.chain(described.iter().map(|command| (command.name.clone(), command.effect))).collect();
        let declared = described.iter().filter(|command| command.confirmation_required);
        let declared = declared.map(|command| command.name.clone());
        let declared: BTreeSet<String> =
            declared.chain(manifest.confirmation_required().iter().map(ToString::to_string)).collect();
        let gate = Gate::new(manifest, contract);
        let confirmed = commands.keys().filter(|name| gate.is_confirmed(name)).chain(&declared).cloned().collect();
        Ok(Commands { commands, declared, confirmed, open: contract.is_none() })
    }

    /// What may be done by a command of this name, or any name, that nobody confirms.
    fn unconfirmed(&self, name: &str) -> Option<Effect> {
        let listed = self.commands.get(name).copied();
        listed.or(self.open.then_some(Effect::Delete)).filter(|_| !self.confirmed.contains(name))
    }

    /// What changes more unconfirmed than in the version before, as it is asked for: each command that is new and changes something, that
    /// changes more than it did, or that a person had to confirm, whatever it says that it does now.
    pub(super) fn unconfirmed_beyond(&self, before: &Commands) -> Vec<String> {
        let more = |name: &&String| {
            let had = before.unconfirmed(name).unwrap_or(Effect::Read);
            self.unconfirmed(name).is_some_and(|now| now > had || before.confirmed.contains(*name))
        };
        let anything = self.open && !before.open;
        let own = self.commands.keys().filter(|_| !anything).chain(&before.confirmed);
        let names: BTreeSet<&String> = own.filter(more).collect();
        let any = anything.then(|| format!("{UNCONFIRMED}*"));
        names.into_iter().map(|name| format!("{UNCONFIRMED}{name}")).chain(any).collect()
    }

    /// Which commands and confirmations come and go.
    pub(super) fn changes(&self, before: &Commands) -> Changes {
        let names = |commands: &Commands| -> BTreeSet<String> { commands.commands.keys().cloned().collect() };
        Changes {
            commands: between(&names(before), &names(self)),
            confirmations: between(&before.declared, &self.declared),
        }
    }
}

/// Whether a grant is of a command of this package, that it may change something unconfirmed.
pub(crate) fn may_ask(package: &Package, grant: &str) -> bool {
    let name = grant.strip_prefix(UNCONFIRMED);
    name.is_some_and(|name| {
        Commands::of(package).is_ok_and(|commands| commands.open || commands.commands.contains_key(name))
    })
}

fn between(before: &BTreeSet<String>, now: &BTreeSet<String>) -> Names {
    Names { added: now.difference(before).cloned().collect(), removed: before.difference(now).cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(described: &[(&str, Effect)], confirmed: &[&str], open: bool) -> Commands {
        Commands {
            commands: described.iter().map(|(name, effect)| ((*name).to_owned(), *effect)).collect(),
            declared: BTreeSet::new(),
            confirmed: confirmed.iter().map(|name| (*name).to_owned()).collect(),
            open,
        }
    }

    #[test]
    fn what_changes_more_unconfirmed_is_asked_for_and_nothing_else_is() {
        use Effect::{Delete, Read, Write};
        let before = || commands(&[("list", Read), ("add", Write), ("remove", Delete)], &["remove"], false);
        let now = |described: &[(&str, Effect)], confirmed: &[&str], open| {
            commands(described, confirmed, open).unconfirmed_beyond(&before())
        };
        // The same, less, and more that only reads or is confirmed.
        assert!(before().unconfirmed_beyond(&before()).is_empty());
        assert!(now(&[("list", Read)], &[], false).is_empty());
        assert!(now(&[("list", Read), ("show", Read), ("wipe", Delete)], &["wipe"], false).is_empty());
        // A confirmation that goes, a command that comes, and one that does more.
        assert_eq!(now(&[("remove", Delete)], &[], false), ["unconfirmed:remove"]);
        assert_eq!(now(&[("remove", Write)], &[], false), ["unconfirmed:remove"]);
        assert_eq!(now(&[("remove", Read)], &[], false), ["unconfirmed:remove"]);
        assert_eq!(now(&[("put", Write), ("wipe", Delete)], &[], false), ["unconfirmed:put", "unconfirmed:wipe"]);
        assert_eq!(now(&[("list", Write), ("add", Delete)], &[], false), ["unconfirmed:add", "unconfirmed:list"]);
        // Without a description any word may be a command, those that had to be confirmed among them.
        assert_eq!(now(&[("list", Delete)], &["remove"], true), ["unconfirmed:*"]);
        assert_eq!(now(&[], &[], true), ["unconfirmed:remove", "unconfirmed:*"]);
        let open = |confirmed: &[&str]| commands(&[("x", Delete)], confirmed, true);
        assert!(open(&[]).unconfirmed_beyond(&open(&[])).is_empty());
        assert_eq!(open(&[]).unconfirmed_beyond(&open(&["x", "y"])), ["unconfirmed:x", "unconfirmed:y"]);
        // Of what can't be read nothing is known.
        let nothing = Commands::default();
        assert_eq!(before().unconfirmed_beyond(&nothing), ["unconfirmed:add"]);
    }
}
