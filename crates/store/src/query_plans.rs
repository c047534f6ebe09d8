//! How the database goes about the queries behind lists, for the tests that hold them to an index.

use std::collections::HashMap;

use crate::database::{Row, Sql, Value};
use crate::directory::{PeopleQuery, is_selective};
use crate::sessions::SessionWalk;
use crate::{Cursor, PageStart, PeopleFilter, SessionFilter, Store, StoreError};

impl Store {
    /// How it is found out who is on a page, and how those people and their roles are read.
    ///
    /// # Errors
    /// When the store fails.
    #[doc(hidden)]
    pub async fn people_plans(
        &self,
        filter: PeopleFilter,
        at: PageStart,
        limit: usize,
    ) -> Result<[String; 3], StoreError> {
        let those: Vec<_> = (0..limit).map(|number| format!("person{number}")).collect();
        self.database
            .read(move |sql| {
                let page = PeopleQuery::page(&filter, &at, limit, is_selective(sql, &filter)?)?;
                let (people, roles) =
                    (PeopleQuery::people(&filter.corp, &those), PeopleQuery::roles(&filter.corp, &those));
                let plan = |query: PeopleQuery| plan(sql, &query.text, &query.values);
                Ok([plan(page)?, plan(people)?, plan(roles)?])
            })
            .await
    }

    /// How people are counted.
    ///
    /// # Errors
    /// When the store fails.
    #[doc(hidden)]
    pub async fn count_plan(&self, filter: PeopleFilter, at_most: i64) -> Result<String, StoreError> {
        self.database
            .read(move |sql| {
                let query = PeopleQuery::count(&filter, at_most.saturating_add(1), is_selective(sql, &filter)?)?;
                plan(sql, &query.text, &query.values)
            })
            .await
    }

    /// How a page of sessions is read.
    ///
    /// # Errors
    /// When the store fails.
    #[doc(hidden)]
    pub async fn sessions_plan(
        &self,
        filter: SessionFilter,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<String, StoreError> {
        let walk = SessionWalk::from(&filter, after.as_ref(), limit)?;
        self.database.read(move |sql| plan(sql, walk.text(), &walk.values())).await
    }
}

/// One line for each step, further in where it belongs to another.
fn plan(sql: &Sql<'_>, text: &str, values: &[Value<'_>]) -> Result<String, StoreError> {
    if let Sql::Postgres(_) = sql {
        return Ok(sql.rows(&format!("EXPLAIN {text}"), values, |row| row.text(0))?.join("\n"));
    }
    let read = |row: &Row<'_>| Ok((row.int(0)?, row.int(1)?, row.text(3)?));
    let steps = sql.rows(&format!("EXPLAIN QUERY PLAN {text}"), values, read)?;
    let mut depths = HashMap::new();
    let lines = steps.into_iter().map(|(id, parent, step)| {
        let depth = depths.get(&parent).map_or(0, |depth| depth + 1);
        depths.insert(id, depth);
        format!("{}{step}", "  ".repeat(depth))
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
