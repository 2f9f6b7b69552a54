//! Tables for people: columns side by side, as wide as what they hold, and no wider than the screen.

use crate::screen::tone::Tone;
use console::{Alignment, measure_text_width, pad_str, truncate_str};
use hutch_model::terminal::one_line;

/// Columns of the widest table.
pub(crate) const COLUMNS_MAX: usize = 24;
/// What a column keeps of its width on a narrow screen.
const NARROW: usize = 12;
const GAP: usize = 2;
/// Names in the line that says what is not shown.
const NAMED_MAX: usize = 12;

/// Headings and rows, each cell in one line.
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
        self.rows.push(known.map(|(column, cell, tone)| (column, one_line(&cell), tone)).collect());
    }

    /// The same with other texts in it.
    pub(crate) fn each(mut self, change: impl Fn(String) -> String) -> Table {
        let texts = self.headings.iter_mut().chain(self.rows.iter_mut().flatten().map(|(_, cell, _)| cell));
        for text in texts.chain(&mut self.others) {
            *text = change(std::mem::take(text));
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
        let lines = self.rows.iter().map(|row| {
            let mut cells = vec![("-", Tone::Plain); widths.len()];
            for (column, cell, tone) in row {
                if let Some(place) = cells.get_mut(*column) {
                    *place = (cell, *tone);
                }
            }
            line(cells.into_iter(), &widths)
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

    /// The width of each column that is shown: the widest ones give way first, then the last ones.
    fn widths(&self, screen: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| measure_text_width(heading)).collect();
        for (column, cell, _) in self.rows.iter().flatten() {
            if let Some(width) = widths.get_mut(*column) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        let Some(screen) = screen else { return widths };
        while !widths.is_empty() {
            let gaps = GAP * (widths.len() - 1);
            let fits = |most: usize| widths.iter().map(|width| (*width).min(most)).sum::<usize>() + gaps <= screen;
            let least = if widths.len() == 1 { 1 } else { NARROW };
            if let Some(most) = (least..=screen.max(least)).rev().find(|most| fits(*most)) {
                return widths.into_iter().map(|width| width.min(most)).collect();
            }
            if widths.len() == 1 {
                break;
            }
            widths.pop();
        }
        widths
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
        let first = "td_0001  ttttttttttttt…  2026-04-01  somebody";
        assert_eq!(shown(&narrow, Some(45)).lines().nth(1), Some(first));
        let (heading, body) = narrow.shown(Some(40));
        assert_eq!(heading, "ID       TITLE                AT");
        assert_eq!(plain(body), "td_0001  tttttttttttttttttt…  2026-04-01\nnot shown: BY; --agent shows all");
        for width in 0..100 {
            let text = shown(&narrow, Some(width));
            assert!(text.lines().all(|line| measure_text_width(line) <= width.max(NARROW)), "{width}: {text}");
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
