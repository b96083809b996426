//! The book: everything that the program says of itself.

use laggard::verify::{Checked, Effort, Outcome, names, verify};
use std::collections::BTreeSet;

/// What is wrong, or not checked, a line each.
fn complaints(all: &[Checked]) -> String {
    let wrong = all.iter().filter(|case| case.is_wrong());
    wrong
        .map(|case| match &case.outcome {
            Outcome::Found(findings) => {
                let wrong: Vec<String> = findings
                    .iter()
                    .filter(|finding| !finding.holds)
                    .map(|f| format!("  {:?} {}: {} expected {} ± {}", f.by, f.what, f.found, f.expected, f.within))
                    .collect();
                format!("{} ({} findings)\n{}\n", case.id, findings.len(), wrong.join("\n"))
            }
            other => format!("{}: {other:?}\n", case.id),
        })
        .collect()
}

/// Every case of the book: a formula to twelve digits, and a simulation where it is a statistic or a replay.
#[test]
fn the_book_is_right() {
    let all = verify(&[], Effort::Full).unwrap();
    assert!(all.iter().all(|case| !case.is_wrong()), "{}", complaints(&all));
    assert_eq!(all.len(), 420);
    let checked = all.iter().filter(|case| matches!(case.outcome, Outcome::Found(_))).count();
    let reasons: BTreeSet<&str> = all
        .iter()
        .filter_map(|case| if let Outcome::Unchecked(reason) = case.outcome { Some(reason) } else { None })
        .collect();
    assert!(checked >= 380 && reasons.len() <= 5, "{checked} checked; {reasons:?}");
}

#[test]
fn filters_choose_cases_and_quick_is_the_same_book() {
    let all = names().unwrap();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 420);
    let some = verify(&["T4.dd1".into(), "T3.corr".into()], Effort::Quick).unwrap();
    assert_eq!(some.iter().map(|case| case.id.as_str()).filter(|id| id.starts_with("T4.dd1.")).count(), 4);
    assert!(some.len() == 5 && some.iter().all(|case| !case.is_wrong()), "{}", complaints(&some));
}
