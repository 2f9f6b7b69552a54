//! Passwords as PostgreSQL's own programs keep them: a file of lines `HOST:PORT:DATABASE:USER:PASSWORD`. Reads no file.

use crate::address::{Address, Place};
use crate::database::Password;

impl Address {
    /// The password of the first line that fits: `*` fits anything, and `\` stands before a colon or itself. A socket's host is `localhost`,
    /// or its folder.
    pub fn password_in(&self, text: &str, user: &str) -> Option<Password> {
        let (hosts, port) = match &self.place {
            Place::Host(host, port) => (vec![host.clone()], port),
            Place::Folder(folder, port) => (vec!["localhost".to_owned(), folder.display().to_string()], port),
        };
        let port = port.to_string();
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields: [String; 5] = fields(line).try_into().ok()?;
            let [host, of_port, database, role, password] = fields;
            let fits = |field: &str, value: &str| field == "*" || field == value;
            let is_it = (host == "*" || hosts.contains(&host))
                && fits(&of_port, &port)
                && fits(&database, &self.database)
                && fits(&role, user);
            is_it.then(|| Password::new(password))
        })
    }
}

/// The fields of a line. The last one may hold colons.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, fields.len()) {
            (':', 1..5) => fields.push(String::new()),
            _ => {
                let escaped = if character == '\\' { characters.next() } else { None };
                if let Some(last) = fields.last_mut() {
                    last.push(escaped.unwrap_or(character));
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment\nshort:line\ndb:5432:other:me:no\n*:*:x:you:two\nlocalhost:5432:x:me:a\\:b\\\\c:d\n*:*:*:*:rest\n";
        let found = |url: &str, user: &str| {
            let password = Address::parse(url).unwrap().password_in(text, user).map(Password::into_text);
            password.unwrap_or_default()
        };
        assert_eq!(found("postgres://localhost/x", "me"), "a:b\\c:d");
        assert_eq!(found("postgres:///x?host=/run/p", "me"), "a:b\\c:d");
        assert_eq!(found("postgres://localhost/x", "you"), "two");
        assert_eq!(found("postgres://localhost:7/x", "me"), "rest");
        assert_eq!(found("postgres://db/other?sslmode=disable", "me"), "no");
        assert!(Address::parse("postgres://localhost/x").unwrap().password_in("localhost:1:x:me:p", "me").is_none());
    }
}
