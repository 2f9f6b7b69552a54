//! probe
fn main() {
    let mut c = rusqlite::Connection::open_in_memory().unwrap();
    let v: String = c.query_row("select sqlite_version() || random() || datetime('now')", [], |r| r.get(0)).unwrap();
    let n = c.serialize("main").unwrap().len();
    println!("{{\"v\":\"{v}\",\"n\":{n}}}");
}
