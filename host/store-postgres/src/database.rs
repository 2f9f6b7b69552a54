//! A database and the connections of one process to it: each use takes an idle one or opens another, up to a bound, and then waits. Where
//! nothing can be connected to any more, behind the ring, those that there are have to do.

use crate::address::{Address, Place};
use crate::failure::failed;
use crate::instance::PostgresStore;
#[cfg(unix)]
use crate::reach::Connector;
use crate::row::Row;
use crate::schema;
use crate::wire::{Connection, Stream, WireError};
use hutch_model::names::Slug;
use hutch_store::{InstanceName, StoreError};
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much longer than a lock may take a server may say nothing: reading through a large instance is one statement a page.
const SILENCE: Duration = Duration::from_secs(60);

/// At what distance a server that takes no connections for now is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether a server will take connections, only not yet: it is starting, ending, or has as many as it may.
fn is_for_now(error: &WireError) -> bool {
    matches!(error, WireError::Refused { state, .. } if state == "57P03" || state == "53300")
}

/// A password. It is in no text.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// A password from its text.
    pub fn new(text: String) -> Password {
        Password(text)
    }

    #[cfg(test)]
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// How a database is used.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The role.
    pub user: String,
    /// What it says to prove who it is; nothing where the server asks for nothing.
    pub password: Option<Password>,
    /// The longest wait for a lock that another process holds, for a connection, and for being connected.
    pub wait: Duration,
    /// The most connections at one time. A transaction holds one while objects are read through another, so at least two are useful.
    pub connections_max: usize,
    /// Whether tables that are missing are made.
    pub makes_tables: bool,
    /// Who connects, if it is not this process.
    #[cfg(unix)]
    pub connector: Option<Arc<Connector>>,
}

/// A database with the tables of this version, connected to.
#[derive(Debug)]
pub struct Database {
    address: Address,
    opening: Opening,
    at: String,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    /// Idle ones and lent ones.
    open: usize,
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Its version, in its own words.
    pub version: String,
    /// `synchronous_commit`, as others are served: where it is `off`, commits of this crate are synced all the same.
    pub synchronous_commit: String,
    /// `fsync`: with `off` what was answered may be lost with the power, or all of it.
    pub fsync: String,
    /// Whether it is a copy that takes no writes.
    pub is_copy: bool,
    /// The version of the tables.
    pub schema: u64,
}

/// An instance that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The package.
    pub slug: Slug,
    /// Its name.
    pub name: InstanceName,
    /// Bytes of its entries and objects.
    pub bytes: u64,
}

impl Database {
    /// Connects, and makes the tables if they are missing.
    ///
    /// # Errors
    /// The server can't be reached or refuses the role; there are no tables and none are to be made ([`StoreError::Missing`]); or a newer
    /// version made them.
    pub fn connect(address: Address, opening: Opening) -> Result<Arc<Database>, StoreError> {
        let at = address.shown();
        let pool = Mutex::default();
        let database = Database { address, opening, at, pool, freed: Condvar::new() };
        database.with(|connection| {
            let version = schema::version(connection).map_err(|error| failed(&database.at, error))?;
            match schema::is_current(&database.at, version)? {
                true => Ok(()),
                false if !database.opening.makes_tables => {
                    Err(StoreError::Missing { at: database.at.clone(), what: "store of this version yet".to_owned() })
                }
                false => schema::migrate(connection).map_err(|error| failed(&database.at, error)),
            }
        })?;
        Ok(Arc::new(database))
    }

    /// The store of an instance, which is made when it is first written: then `fresh`, 32 random bytes, becomes the key under which its
    /// ledger hashes secrets. Nothing is asked yet.
    pub fn store(self: &Arc<Database>, slug: &Slug, instance: &InstanceName, fresh: [u8; 32]) -> PostgresStore {
        PostgresStore::new(Arc::clone(self), slug, instance, fresh)
    }

    /// The instances of the role that are there, by package and name.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn instances(&self) -> Result<Vec<Known>, StoreError> {
        const ALL: &str = "SELECT package, name,
            (SELECT coalesce(sum(length(bytes)), 0) FROM hutch_entries WHERE instance = id)::bigint
            + (SELECT coalesce(sum(length(bytes)), 0) FROM hutch_objects WHERE instance = id)::bigint
            FROM hutch_instances WHERE tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user) ORDER BY package COLLATE \"C\", name COLLATE \"C\"";
        let rows = self.sql(|connection| connection.rows(ALL, &[]))?;
        let known = |row: &Row| {
            let broken = |reason: String| StoreError::Damaged {
                at: self.at.clone(),
                what: "the table of instances".to_owned(),
                reason,
            };
            let text = |column| row.text(column).map_err(|error| broken(error.to_string()));
            let slug = Slug::parse(text(0)?).map_err(|error| broken(error.to_string()))?;
            let name = text(1)?.parse().map_err(|error: hutch_store::StoreNameError| broken(error.to_string()))?;
            Ok(Known { slug, name, bytes: row.number(2).map_err(|error| broken(error.to_string()))? })
        };
        rows.iter().map(known).collect()
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// It can't be asked.
    pub fn about(&self) -> Result<About, StoreError> {
        const ASKED: &str = "SELECT current_setting('synchronous_commit'), current_setting('fsync'),
            pg_is_in_recovery()::text";
        self.sql(|connection| {
            let schema = schema::version(connection)?;
            let rows = connection.rows(ASKED, &[])?;
            let text = |column| rows.first().map_or(Ok(String::new()), |row| row.text(column).map(str::to_owned));
            Ok(About {
                version: connection.version.clone(),
                synchronous_commit: text(0)?,
                fsync: text(1)?,
                is_copy: text(2)? == "true",
                schema,
            })
        })
    }

    /// Asks for nothing and waits for the answer: how long that takes is how far away the server is.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ping(&self) -> Result<(), StoreError> {
        self.sql(|connection| connection.rows("SELECT 1::bigint", &[]).map(drop))
    }

    /// Where it is, for messages.
    pub fn at(&self) -> &str {
        &self.at
    }

    pub(crate) fn wait(&self) -> Duration {
        self.opening.wait
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to keep for a while; [`give_back`](Database::give_back) takes it back, whatever became of it.
    pub(crate) fn take(&self) -> Result<Connection, StoreError> {
        let mut pool = self.lock();
        loop {
            if let Some(idle) = pool.idle.pop() {
                return Ok(idle);
            }
            if pool.open < self.opening.connections_max.max(1) {
                pool.open += 1;
                drop(pool);
                let error = match self.dial() {
                    Ok(connection) => return Ok(connection),
                    Err(error) => error,
                };
                pool = self.lock();
                pool.open -= 1;
                // Others have some: one of those has to do.
                if pool.open == 0 {
                    return Err(failed(&self.at, error));
                }
                if let Some(idle) = pool.idle.pop() {
                    return Ok(idle);
                }
            }
            let (locked, waited) =
                self.freed.wait_timeout(pool, self.opening.wait).unwrap_or_else(PoisonError::into_inner);
            pool = locked;
            if waited.timed_out() && pool.idle.is_empty() {
                return Err(StoreError::Busy { at: self.at.clone() });
            }
        }
    }

    /// Takes a connection back; one that is in a transaction or broken ends.
    pub(crate) fn give_back(&self, connection: Connection) {
        let mut pool = self.lock();
        match connection.is_free() {
            true => pool.idle.push(connection),
            false => pool.open -= 1,
        }
        drop(pool);
        self.freed.notify_one();
    }

    /// Ends the idle connections: what ended one of them may have ended all.
    pub(crate) fn forget_idle(&self) {
        let mut pool = self.lock();
        pool.open -= pool.idle.len();
        let idle = std::mem::take(&mut pool.idle);
        drop(pool);
        drop(idle);
    }

    /// Lends a connection.
    pub(crate) fn with<R>(&self, job: impl FnOnce(&mut Connection) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let mut connection = self.take()?;
        let result = job(&mut connection);
        self.give_back(connection);
        result
    }

    /// Lends a connection for work whose errors need only the place. An idle connection may have been ended by the server meanwhile: what
    /// only reads is asked once more, through a new one.
    pub(crate) fn sql<R>(&self, job: impl Fn(&mut Connection) -> Result<R, WireError>) -> Result<R, StoreError> {
        let mut connection = self.take()?;
        let mut result = job(&mut connection);
        self.give_back(connection);
        if matches!(result, Err(WireError::Io(_))) {
            self.forget_idle();
            connection = self.take()?;
            result = job(&mut connection);
            self.give_back(connection);
        }
        result.map_err(|error| failed(&self.at, error))
    }

    /// Connects. A server that is starting, or has no connection left, is asked again for as long as a lock would be waited for.
    fn dial(&self) -> Result<Connection, WireError> {
        let mut waited = Duration::ZERO;
        loop {
            match self.dial_once() {
                Err(error) if is_for_now(&error) && waited < self.opening.wait => {
                    #[expect(clippy::disallowed_methods, reason = "no event tells that a server takes connections")]
                    std::thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                dialled => return dialled,
            }
        }
    }

    fn dial_once(&self) -> Result<Connection, WireError> {
        #[cfg(unix)]
        let stream = match &self.opening.connector {
            Some(connector) => connector.connect().map(Stream::from),
            None => dialled(&self.address, self.opening.wait),
        };
        #[cfg(not(unix))]
        let stream = dialled(&self.address, self.opening.wait);
        let password = self.opening.password.as_ref().map(|password| password.0.as_str());
        Connection::open(stream?, (self.opening.user.as_str(), self.address.database.as_str(), password))
    }
}

/// Connects to a server. The connection says itself how long a read and a write of it may take, in whatever process it is used.
#[expect(clippy::disallowed_methods, reason = "the one place that connects to a database, which the operator named")]
pub(crate) fn dialled(address: &Address, wait: Duration) -> io::Result<Stream> {
    let silence = Some(wait + SILENCE);
    match &address.place {
        Place::Host(host, port) => {
            let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, wait.max(Duration::from_millis(1))) {
                    Ok(socket) => {
                        socket.set_nodelay(true)?;
                        socket.set_read_timeout(silence)?;
                        socket.set_write_timeout(silence)?;
                        #[cfg(unix)]
                        let socket = std::os::fd::OwnedFd::from(socket);
                        return Ok(socket.into());
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
        #[cfg(unix)]
        Place::Folder(folder, port) => {
            let socket = std::os::unix::net::UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))?;
            socket.set_read_timeout(silence)?;
            socket.set_write_timeout(silence)?;
            Ok(std::os::fd::OwnedFd::from(socket).into())
        }
        #[cfg(not(unix))]
        Place::Folder(..) => Err(ErrorKind::Unsupported.into()),
    }
}
