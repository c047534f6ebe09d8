//! The networks in which a role may be active.

use deskpass_core::{AllowLists, Role};
use ipnet::IpNet;

use crate::access_rules::read_allow_lists;
use crate::cache::CacheChange;
use crate::locks::lock_administration;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

impl Store {
    /// The networks of every role that has an allow list, ordered by role and address.
    pub async fn ip_rules(&self) -> Result<Vec<(Role, IpNet)>> {
        self.database.read(|sql| Ok(read_allow_lists(sql)?.entries().collect())).await
    }

    /// Replaces all allow lists, and logs the new ones; `false`, with no change, when they are the same.
    pub async fn set_ip_rules(
        &self,
        by: ChangeAuthor,
        rules: Vec<(Role, IpNet)>,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let wanted: AllowLists = rules.into_iter().collect();
        self.change_ip_rules(by, move |_| wanted.clone(), entry).await
    }

    /// Replaces the allow list of one role; the others stay as they are, including concurrent changes to them.
    pub async fn set_ip_rules_of(
        &self,
        by: ChangeAuthor,
        role: Role,
        list: Vec<IpNet>,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.change_ip_rules(by, move |before| before.with(role, &list), entry).await
    }

    async fn change_ip_rules(
        &self,
        by: ChangeAuthor,
        change: impl Fn(&AllowLists) -> AllowLists + Send + Sync + 'static,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            // Of two concurrent changes to the lists, the second must see the result of the first.
            lock_administration(tx)?;
            let before = read_allow_lists(tx)?;
            let wanted = change(&before);
            if before == wanted {
                return Ok(false);
            }
            tx.execute("DELETE FROM ip_rule", &[])?;
            for (role, network) in wanted.entries() {
                let text = "INSERT INTO ip_rule (role_id, network) VALUES ($1, $2)";
                tx.execute(text, &args![role, &*network.to_string()])?;
            }
            tx.record_change(CacheChange::Rules);
            LogEntry { detail: wanted.to_string(), ..entry.clone() }.write(tx)?;
            Ok(true)
        })
        .await
    }
}
