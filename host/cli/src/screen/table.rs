//! Tables for people: columns side by side, as wide as what they hold, and no wider than the screen.

use crate::screen::tone::Tone;
use console::{Alignment, measure_text_width, pad_str, truncate_str};
use hutch_model::instant::Instant;
use hutch_model::terminal::one_line;

/// Columns of the widest table.
pub(crate) const COLUMNS_MAX: usize = 24;
/// What a column keeps of its width on a narrow screen.
const NARROW: usize = 12;
/// And one of prose, as long as only such columns give way.
const READABLE: usize = 24;
/// Lines of a cell; what is longer is cut.
const LINES: usize = 8;
/// Characters of a cell, those that take no place of their own among them; what is longer is cut.
const CHARACTERS_MAX: usize = 4096;
const GAP: usize = 2;
/// Names in the line that says what is not shown.
const NAMED_MAX: usize = 12;

/// Headings and rows, each cell as one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    headings: Vec<String>,
    /// By column, in order; what is not there is nothing.
    rows: Vec<Vec<(usize, String, Tone)>>,
    /// What has no column.
    others: Vec<String>,
}

impl Table {
    /// Of these columns. Those beyond [`COLUMNS_MAX`] are named below the table, and so is what else is left out.
    pub(crate) fn of(headings: impl IntoIterator<Item = String>, left_out: impl IntoIterator<Item = String>) -> Table {
        let mut headings: Vec<String> = headings.into_iter().map(|heading| one_line(&heading)).collect();
        let mut others = headings.split_off(headings.len().min(COLUMNS_MAX));
        others.extend(left_out.into_iter().map(|name| one_line(&name)));
        Table { headings, rows: Vec::new(), others }
    }

    /// Adds a row of cells, each with the number of its column, in order.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = (usize, String)>) {
        self.toned_row(cells.into_iter().map(|(column, cell)| (column, cell, Tone::Plain)));
    }

    /// The same, each with its tone.
    pub(crate) fn toned_row(&mut self, cells: impl IntoIterator<Item = (usize, String, Tone)>) {
        let known = cells.into_iter().filter(|(column, ..)| *column < self.headings.len());
        self.rows.push(known.map(|(column, cell, tone)| (column, one_line(&bounded(cell)), tone)).collect());
    }

    /// The same with other texts in it.
    pub(crate) fn each(mut self, change: impl Fn(String) -> String) -> Table {
        let texts = self.headings.iter_mut().chain(self.rows.iter_mut().flatten().map(|(_, cell, _)| cell));
        for text in texts.chain(&mut self.others) {
            *text = change(std::mem::take(text));
        }
        self
    }

    /// The same, its instants as they are told at this one.
    pub(crate) fn told_at(mut self, now: Instant) -> Table {
        for (_, cell, _) in self.rows.iter_mut().flatten() {
            if let Ok(instant) = cell.parse() {
                *cell = when(instant, now);
            }
        }
        self
    }

    /// The line of headings, and those below it, each in parts of one tone.
    pub(crate) fn shown(&self, width: Option<usize>) -> (String, Vec<Vec<(String, Tone)>>) {
        if self.rows.is_empty() {
            return ("nothing".to_owned(), Vec::new());
        }
        let widths = self.widths(width);
        let heading = line(self.headings.iter().map(|heading| (heading.as_str(), Tone::Plain)), &widths);
        let heading = heading.into_iter().map(|(text, _)| text).collect();
        let lines = self.rows.iter().flat_map(|row| {
            let mut cells = vec![(vec!["-"], Tone::Plain); widths.len()];
            for (column, cell, tone) in row {
                if let (Some(place), Some(width)) = (cells.get_mut(*column), widths.get(*column)) {
                    *place = (wrapped(cell, *width), *tone);
                }
            }
            let deepest = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(1);
            let nth = |at: usize| {
                let part =
                    move |(lines, tone): &(Vec<_>, _)| lines.get(at).map_or(("", Tone::Plain), |line| (*line, *tone));
                cells.iter().map(part)
            };
            (0..deepest).map(|at| line(nth(at), &widths)).collect::<Vec<_>>()
        });
        let mut body: Vec<Vec<(String, Tone)>> = lines.collect();
        let hidden: Vec<&str> =
            self.headings.iter().skip(widths.len()).chain(&self.others).map(String::as_str).collect();
        if let Some(note) = not_shown(&hidden) {
            let note =
                width.map_or_else(|| note.clone(), |width| truncate_str(&note, width.max(NARROW), "…").into_owned());
            body.push(vec![(note, Tone::Plain)]);
        }
        (heading, body)
    }

    /// The width of each column that is shown: the widest ones give way first, of those the ones that can be broken between words, then
    /// the last ones.
    fn widths(&self, screen: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| measure_text_width(heading)).collect();
        for (column, cell, _) in self.rows.iter().flatten() {
            if let Some(width) = widths.get_mut(*column) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        let Some(screen) = screen else { return widths };
        let mut is_prose = vec![false; widths.len()];
        for (column, ..) in self.rows.iter().flatten().filter(|(_, cell, _)| cell.contains(' ')) {
            if let Some(is_prose) = is_prose.get_mut(*column) {
                *is_prose = true;
            }
        }
        while !widths.is_empty() {
            let gaps = GAP * (widths.len() - 1);
            let within = |most: usize, only_prose: bool| -> Vec<usize> {
                let within = |(width, is_prose): (&usize, &bool)| match only_prose && !is_prose {
                    true => *width,
                    false => (*width).min(most),
                };
                widths.iter().zip(&is_prose).map(within).collect()
            };
            let fits = |widths: &Vec<usize>| widths.iter().sum::<usize>() + gaps <= screen;
            let widest = |least: usize, only_prose: bool| {
                (least..=screen.max(least)).rev().map(|most| within(most, only_prose)).find(fits)
            };
            let least = if widths.len() == 1 { 1 } else { NARROW };
            if let Some(found) = widest(READABLE, true).or_else(|| widest(least, false)) {
                return found;
            }
            if widths.len() == 1 {
                break;
            }
            widths.pop();
        }
        widths
    }
}

/// As much of a text as a cell may have.
fn bounded(mut cell: String) -> String {
    if let Some((end, _)) = cell.char_indices().nth(CHARACTERS_MAX) {
        cell.truncate(end);
        cell.push('…');
    }
    cell
}

/// The lines of a cell: broken between words, and in a word that is wider than a line. Each character is looked at a few times, however many
/// take no place of their own.
fn wrapped(cell: &str, width: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), cell.trim_end());
    while lines.len() + 1 < LINES
        && let Some(end) = end_of_line(rest.char_indices(), width)
    {
        let (line, next) = rest.split_at(end);
        let before = line.rsplit_once(' ').map(|(before, _)| before.trim_end()).filter(|before| !before.is_empty());
        let line = before.filter(|_| !next.starts_with(' ')).unwrap_or(line);
        lines.push(line);
        rest = rest.split_at(line.len()).1.trim_start_matches(' ');
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

/// The byte at which a line of this width ends, of which at least one character is; none if all fits. Each character is looked at once.
fn end_of_line(letters: impl Iterator<Item = (usize, char)>, width: usize) -> Option<usize> {
    let mut taken = 0;
    letters.enumerate().find_map(|(nth, (at, letter))| {
        taken += measure_text_width(letter.encode_utf8(&mut [0; 4]));
        (nth > 0 && taken > width).then_some(at)
    })
}

/// An instant as people read it: how long ago it was if that is less than a day, else its day and its minute in UTC.
fn when(instant: Instant, now: Instant) -> String {
    let seconds = now.unix_ns().checked_sub(instant.unix_ns()).map(|elapsed_ns| elapsed_ns / 1_000_000_000);
    match seconds {
        // As wide as what it is called next.
        Some(0..=29) => "just now ".to_owned(),
        Some(seconds @ 30..=3599) => format!("{} min ago", (seconds / 60).max(1)),
        Some(seconds @ 3600..=86_399) => format!("{} h ago", seconds / 3600),
        _ => {
            let text = instant.to_string();
            text.get(..16).map_or_else(|| text.clone(), |minute| format!("{}Z", minute.replace('T', " ")))
        }
    }
}

/// Cells side by side, without blanks at the end.
fn line<'c>(cells: impl Iterator<Item = (&'c str, Tone)>, widths: &[usize]) -> Vec<(String, Tone)> {
    let padded = cells.zip(widths).enumerate().map(|(at, ((cell, tone), width))| {
        let gap = if at == 0 { 0 } else { GAP };
        (" ".repeat(gap), pad_str(cell, *width, Alignment::Left, Some("…")).into_owned(), tone)
    });
    let mut parts: Vec<(String, Tone)> = padded
        .flat_map(|(gap, cell, tone)| [(gap, Tone::Plain), (cell, tone)])
        .filter(|(text, _)| !text.is_empty())
        .collect();
    while let Some((last, _)) = parts.last_mut() {
        last.truncate(last.trim_end().len());
        if !last.is_empty() {
            break;
        }
        parts.pop();
    }
    parts
}

fn not_shown(names: &[&str]) -> Option<String> {
    let (named, more) = names.split_at(names.len().min(NAMED_MAX));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("not shown: {}{more}; --agent shows all", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, &[&str])]) -> Table {
        let mut table = Table::of(columns.iter().map(|(heading, _)| (*heading).to_owned()), []);
        for row in 0..columns[0].1.len() {
            let cells = columns.iter().enumerate().map(|(column, (_, cells))| (column, cells[row].to_owned()));
            table.row(cells);
        }
        table
    }

    fn plain(body: Vec<Vec<(String, Tone)>>) -> String {
        body.into_iter()
            .map(|line| line.into_iter().map(|(text, _)| text).collect())
            .collect::<Vec<String>>()
            .join("\n")
    }

    fn shown(table: &Table, width: Option<usize>) -> String {
        let (heading, body) = table.shown(width);
        format!("{heading}\n{}", plain(body))
    }

    #[test]
    fn columns_are_as_wide_as_their_cells_appear() {
        let wide = table(&[("ID", &["1", "22"]), ("TITLE", &["買い物", "e\u{301}té"]), ("AT", &["x", "y"])]);
        assert_eq!(shown(&wide, None), "ID  TITLE   AT\n1   買い物  x\n22  e\u{301}té     y");
    }

    #[test]
    fn on_a_narrow_screen_the_widest_column_gives_way_then_the_last_is_named() {
        let title = "t".repeat(70);
        let narrow =
            table(&[("ID", &["td_0001"]), ("TITLE", &[&title]), ("AT", &["2026-04-01"]), ("BY", &["somebody"])]);
        let first = "td_0001  tttttttttttttt  2026-04-01  somebody";
        assert_eq!(shown(&narrow, Some(45)).lines().nth(1), Some(first));
        let (heading, body) = narrow.shown(Some(40));
        assert_eq!(heading, "ID       TITLE                AT");
        let title = |count: usize| "t".repeat(count);
        let body_lines = [
            format!("td_0001  {}  2026-04-01", title(19)),
            format!("         {}", title(19)),
            format!("         {}", title(19)),
            format!("         {}", title(13)),
            "not shown: BY; --agent shows all".to_owned(),
        ];
        assert_eq!(plain(body), body_lines.join("\n"));
        for width in 0..100 {
            let text = shown(&narrow, Some(width));
            assert!(text.lines().all(|line| measure_text_width(line) <= width.max(NARROW)), "{width}: {text}");
        }
    }

    #[test]
    fn prose_is_broken_between_words_and_what_names_things_stays_whole() {
        let words = "Adds an open item and shows it with its new id, of which there is none twice, not even when it was removed";
        let prose =
            table(&[("ID", &["td_00012345", "b"]), ("WHAT", &[words, "買い物 に行く"]), ("BY", &["agent", "-"])]);
        for width in [40, 80, 120] {
            let text = shown(&prose, Some(width));
            assert!(text.lines().all(|line| measure_text_width(line) <= width), "{width}: {text}");
            let seen: Vec<&str> = text.split_whitespace().collect();
            assert!(seen.contains(&"td_00012345") && seen.contains(&"agent") && !text.contains('…'), "{width}: {text}");
            let told: Vec<&str> =
                seen.iter().filter(|word| words.split(' ').any(|one| one == **word)).copied().collect();
            assert_eq!(told.join(" "), words, "{width}: {text}");
            assert!(text.lines().count() > 3 || width == 120, "{width}: {text}");
        }
        // What would be ever deeper is cut.
        let endless = table(&[("ID", &["1"]), ("WHAT", &["word ".repeat(10_000).as_str()])]);
        let text = shown(&endless, Some(40));
        assert!(text.ends_with('…') && text.lines().count() == LINES + 1, "{text}");
        assert_eq!(wrapped("買い", 1), ["買", "い"]);
        assert_eq!(wrapped("a  bc def", 4), ["a", "bc", "def"]);
        // What stands on another character takes no place, and no more work than that one.
        let flood = format!("a{} b", "\u{301}".repeat(3_000));
        let line = flood.strip_suffix(" b").unwrap();
        assert_eq!(wrapped(&flood, 1), [line, "b"]);
        let mut looked_at = 0;
        assert_eq!(end_of_line(flood.char_indices().inspect(|_| looked_at += 1), 1), Some(line.len()));
        assert_eq!(looked_at, line.chars().count() + 1);
    }

    #[test]
    fn a_cell_has_so_many_characters_whatever_place_they_take() {
        for one in ["x", "\u{301}"] {
            let most = one.repeat(CHARACTERS_MAX);
            for (cell, shown) in [(most.clone(), most.clone()), (most.clone() + "xx", most.clone() + "…")] {
                assert_eq!(bounded(cell.clone()), shown);
                let mut table = Table::of(["A".to_owned()], []);
                table.row([(0, cell)]);
                assert_eq!(table.rows[0][0].1, shown);
            }
        }
    }

    #[test]
    fn instants_are_told_by_how_long_ago_they_were_within_a_day() {
        let now: Instant = "2026-04-02T09:00:30Z".parse().unwrap();
        for (instant, told) in [
            ("2026-04-02T09:00:30Z", "just now"),
            ("2026-04-02T09:00:00.5Z", "just now"),
            ("2026-04-02T09:00:00Z", "1 min ago"),
            ("2026-04-02T08:59:31Z", "1 min ago"),
            ("2026-04-02T08:58:31Z", "1 min ago"),
            ("2026-04-02T08:58:30.5Z", "1 min ago"),
            ("2026-04-02T08:57:30Z", "3 min ago"),
            ("2026-04-02T08:00:31Z", "59 min ago"),
            ("2026-04-02T10:00:30+02:00", "1 h ago"),
            ("2026-04-01T09:00:31Z", "23 h ago"),
            ("2026-04-01T09:00:30Z", "2026-04-01 09:00Z"),
            ("2026-04-02T09:00:31Z", "2026-04-02 09:00Z"),
            ("1970-01-01T00:00:00Z", "1970-01-01 00:00Z"),
            ("2026-04-05", "2026-04-05"),
        ] {
            let told_at = table(&[("AT", &[instant])]).told_at(now);
            assert_eq!(shown(&told_at, Some(80)), format!("AT\n{told}"), "{instant}");
        }
    }

    #[test]
    fn neither_names_nor_numbers_of_columns_are_too_large() {
        let mut table = Table::of((0..70_000).map(|name| format!("{name}")), ["deep".to_owned()]);
        table.row([(3, "x".repeat(100_000)), (69_999, "y".to_owned())]);
        let text = shown(&table, None);
        assert!(
            text.ends_with(
                "not shown: 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35 and 69965 more; --agent shows all"
            )
        );
        assert_eq!(text.lines().count(), 3);
        assert_eq!(shown(&Table::of(["A".to_owned()], []), Some(80)), "nothing\n");
    }
}
