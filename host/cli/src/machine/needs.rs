//! What a command needs before it begins: the list of commands says it, and whoever puts up rings or opens databases reads it.

/// What one command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What is around its guests.
    pub(crate) rings: Rings,
    /// Where the instances are that it works on.
    pub(crate) instances: Instances,
    /// Whether it may take long by itself. What a guest takes is noticed where it runs.
    is_long: bool,
    /// What it is called.
    name: &'static str,
}

/// What is around the guests of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rings {
    /// Nothing: it starts none, or there are none around them.
    None,
    /// It asks components what they are and does no more with them: each is asked in a process of its own.
    Child,
    /// It runs guests, and ends.
    Process,
    /// It runs guests for whoever comes.
    Server,
}

/// Instances that a command works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instances {
    /// None.
    None,
    /// Those of the home, or of a database, until it ends.
    Anywhere,
    /// The same, for as long as it is there.
    Staying,
    /// Those of the home alone.
    Home,
    /// All of the home, as a whole.
    WholeHome,
}

impl Needs {
    pub(crate) const NOTHING: Needs =
        Needs { rings: Rings::None, instances: Instances::None, is_long: false, name: "" };

    pub(crate) const fn of(self, name: &'static str) -> Needs {
        Needs { name, ..self }
    }

    pub(crate) const fn asks(self) -> Needs {
        Needs { rings: Rings::Child, ..self }
    }

    pub(crate) const fn rings(self) -> Needs {
        Needs { rings: Rings::Process, ..self }
    }

    pub(crate) const fn long(self) -> Needs {
        Needs { is_long: true, ..self }
    }

    pub(crate) const fn instances(self) -> Needs {
        Needs { instances: Instances::Anywhere, ..self }
    }

    pub(crate) const fn serves(self) -> Needs {
        Needs { rings: Rings::Server, ..self.staying() }
    }

    pub(crate) const fn staying(self) -> Needs {
        Needs { instances: Instances::Staying, ..self }
    }

    pub(crate) const fn at_home(self) -> Needs {
        Needs { instances: Instances::Home, ..self }
    }

    pub(crate) const fn of_home(self) -> Needs {
        Needs { instances: Instances::WholeHome, ..self }
    }

    /// What to say while it goes on, if that may be long.
    pub(crate) fn step(self) -> Option<&'static str> {
        self.is_long.then_some(self.name)
    }
}
