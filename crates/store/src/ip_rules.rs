//! The networks from which a role may be active.

use deskpass_core::{AllowLists, Role};
use ipnet::IpNet;

use crate::access_rules::read_allow_lists;
use crate::cache::CacheChange;
use crate::locks::lock_administration;
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

impl Store {
    /// The networks of every role that has a list, in the order of roles and addresses.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ip_rules(&self) -> Result<Vec<(Role, IpNet)>, StoreError> {
        self.database.read(|sql| Ok(read_allow_lists(sql)?.entries().collect())).await
    }

    /// Puts these lists in the place of all there are and logs it; `false`, and nothing happened, when they are the same. The
    /// row says what the lists are from then on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_ip_rules(
        &self,
        by: ChangeAuthor,
        rules: Vec<(Role, IpNet)>,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let wanted: AllowLists = rules.into_iter().collect();
        self.change_ip_rules(by, move |_| wanted.clone(), entry).await
    }

    /// The same for the list of one role; the others stay as they are, whoever changes them meanwhile.
    ///
    /// # Errors
    /// When the store fails.
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
        self.authorized(by)
            .write(move |tx| {
                // Of two who change the lists at once, the second must see what the first has put there.
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
