//! Each page is read along an index, and only the page is sorted, whatever its number, also in a large corporation.

use deskpass_core::Role;
use deskpass_store::{
    Cursor, DepartmentFilter, Location, PageStart, PeopleFilter, PeopleOrder, PeopleSelection, SessionFilter,
};

use crate::agents::fixture::{Fixture, at, on_every_store};
use crate::lists::people::{of, term};
use crate::lists::scene::{bulk, term_of};

const PEOPLE: usize = 40_000;

/// The index that finds people among few.
const AMONG_FEW: &str = "employee_term_of_employee";

/// Adds a large corporation and a small one, in which all people have a role, few have another, and all are signed in.
async fn populate(fixture: &Fixture) {
    let numbered = "CASE WHEN n % 10 = 0 THEN 'wwsmall' ELSE 'ww' END, 'person' || n";
    let statements = [
        format!(
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, department_id, avatar, created_at, last_login_at)
             SELECT {numbered}, 'Person' || n, 'Name ' || (n % 1000) || ' of ' || n, 'Department ' || (n % 100), n % 100 || '',
             'https://avatars.example.com/a-path-as-long-as-those-that-the-platform-tells-of-its-pictures/' || n || '/100', 0,
             CASE WHEN n % 3 = 0 THEN n ELSE NULL END FROM numbers"
        ),
        format!("INSERT INTO user_role (corp_id, employee_key, role_id) SELECT {numbered}, 3 FROM numbers"),
        format!("INSERT INTO user_role (corp_id, employee_key, role_id) SELECT {numbered}, 5 FROM numbers WHERE n % 100 = 1"),
        // As long as a digest.
        format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', {numbered}, 3, 'dev', 'h5',
             n / 2, 1000000 FROM numbers"
        ),
    ];
    let name = "'name ' || (n % 1000) || ' of ' || n";
    let terms = ["'person' || n", name, "(n % 1000) || ' of ' || n", "'of ' || n", "n || ''"].map(|term| {
        let term = term_of(fixture, term);
        format!("INSERT INTO employee_term (corp_id, employee_key, term) SELECT {numbered}, {term} FROM numbers")
    });
    for statement in statements.into_iter().chain(terms) {
        bulk(fixture, &statement, PEOPLE).await;
    }
    bulk(fixture, "UPDATE employee SET terms_of = name", 0).await;
    if is_embedded(fixture) {
        // The service has no statistics, either.
        return;
    }
    // Not the whole database: other tests have their schemas in it.
    for table in ["employee", "user_role", "session", "employee_term"] {
        bulk(fixture, &format!("ANALYZE {table}"), 0).await;
    }
}

fn is_embedded(fixture: &Fixture) -> bool {
    matches!(fixture.location(), Location::Embedded(_))
}

/// Fails unless a plan uses this index, scans no table, and sorts nothing except the few rows that a search is among.
fn check(fixture: &Fixture, what: &str, plan: &str, index: &str) {
    let told = format!("{what}\n{plan}");
    let key = if is_embedded(fixture) { format!("sqlite_autoindex_{index}_1") } else { format!("{index}_pkey") };
    assert!(plan.contains(&format!("{index} ")) || plan.contains(&format!("{key} ")), "{told}");
    // A person has few sessions.
    let few = [AMONG_FEW, "session_of_employee"].contains(&index);
    for line in plan.lines().map(str::trim_start) {
        // These are no tables.
        let part = ["SCAN few", "SCAN found", "SCAN same", "SCAN earlier"].contains(&line);
        assert!(part || !(line.starts_with("SCAN") || line.contains("Seq Scan")), "{told}");
        // Sorts only rows that share the rest of the order.
        let right_part = ["RIGHT PART", "LAST TERM", "Incremental"].iter().any(|part| line.contains(part));
        assert!(few || right_part || !(line.contains("TEMP B-TREE") || line.contains("Sort  (")), "{told}");
    }
}

/// A cursor in the middle of a list.
async fn middle(fixture: &Fixture, filter: &PeopleFilter) -> Option<Cursor> {
    let page = fixture.store().people(filter.clone(), PageStart::Offset(20), 10).await.unwrap();
    page.next.map(|next| filter.cursor(&next).unwrap())
}

async fn check_people(fixture: &Fixture, filter: PeopleFilter, index: &str) {
    for from in [None, middle(fixture, &filter).await] {
        let what = format!("{filter:?} from {from:?}");
        let [page, people, roles] = fixture.store().people_plans(filter.clone(), from.clone(), 64).await.unwrap();
        check(fixture, &what, &page, index);
        check(fixture, &what, &people, "employee");
        check(fixture, &what, &roles, "user_role");
        for step in [256, 1_024] {
            let [page, ..] = fixture.store().people_plans(filter.clone(), from.clone(), step).await.unwrap();
            check(fixture, &what, &page, index);
        }
    }
    let plan = fixture.store().count_plan(filter.clone(), 10_000).await.unwrap();
    assert!(is_embedded(fixture) || plan.contains("Limit "), "{filter:?}\n{plan}");
    assert!(!plan.contains("Sort  (") && !plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
}

on_every_store! {
    async fn pages_of_people_and_sessions_go_along_an_index(fixture: &Fixture) {
        populate(fixture).await;
        for corp in ["ww", "wwsmall"] {
            let somewhere = [
                (DepartmentFilter::Name("Department 7".to_owned()), "employee_by_department"),
                (DepartmentFilter::Id("7".to_owned()), "employee_by_department_id"),
            ];
            let found = |q: &str, role| PeopleSelection::Term { q: q.to_owned(), role };
            check_people(fixture, of(corp, PeopleSelection::Everyone(PeopleOrder::Id)), "employee").await;
            check_people(fixture, of(corp, PeopleSelection::Everyone(PeopleOrder::Name)), "employee_by_name").await;
            check_people(fixture, of(corp, PeopleSelection::Everyone(PeopleOrder::LastLogin)), "employee_by_login").await;
            check_people(fixture, of(corp, PeopleSelection::Role(Role::User)), "user_role_by_role").await;
            check_people(fixture, of(corp, PeopleSelection::Role(Role::Security)), "user_role_by_role").await;
            for (department, index) in &somewhere {
                let there = |selection| PeopleFilter { department: Some(department.clone()), ..of(corp, selection) };
                check_people(fixture, there(PeopleSelection::Everyone(PeopleOrder::Id)), index).await;
                check_people(fixture, there(PeopleSelection::Role(Role::User)), index).await;
                check_people(fixture, there(term("777")), AMONG_FEW).await;
            }
            for q in ["p", "name", "person123", "777", "nobody"] {
                check_people(fixture, of(corp, term(q)), "employee_term").await;
                check_people(fixture, of(corp, found(q, Some(Role::User))), "employee_term").await;
                check_people(fixture, of(corp, found(q, Some(Role::Security))), AMONG_FEW).await;
            }
            let all = SessionFilter { corp: corp.to_owned(), department_id: None, employee: None, role: None, now: at(0) };
            let one = SessionFilter { employee: Some("person7".to_owned()), ..all.clone() };
            for (filter, index) in [(all, "session_by_birth"), (one, "session_of_employee")] {
                let page = fixture.store().sessions(filter.clone(), None, 20).await.unwrap();
                let after = page.next.map(|next| filter.cursor(&next).unwrap());
                for after in [None, after] {
                    let plan = fixture.store().sessions_plan(filter.clone(), after, 50).await.unwrap();
                    check(fixture, &format!("{filter:?}"), &plan, index);
                }
            }
        }
    }
}
