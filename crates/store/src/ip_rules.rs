//! The networks from which a role may be active.

use deskpass_core::{AllowLists, Role};
use ipnet::IpNet;

use crate::cache::Change;
use crate::database::Sql;
use crate::rulebook::take_turns;
use crate::{LogEntry, Store, StoreError};

impl Store {
    /// The networks of every role that has a list, in the order of roles and addresses.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ip_rules(&self) -> Result<Vec<(Role, IpNet)>, StoreError> {
        self.database.read(|sql| Ok(entries(&lists(sql)?))).await
    }

    /// Puts these lists in the place of all there are and logs it; `false`, and nothing happened, when they are the same.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_ip_rules(&self, rules: Vec<(Role, IpNet)>, entry: LogEntry) -> Result<bool, StoreError> {
        let wanted: AllowLists = rules.into_iter().collect();
        self.database
            .write(move |tx| {
                // Of two who replace the lists at once, the second must see what the first has put there.
                take_turns(tx)?;
                if lists(tx)? == wanted {
                    return Ok(false);
                }
                tx.execute("DELETE FROM ip_rule", &[])?;
                for (role, network) in entries(&wanted) {
                    let text = "INSERT INTO ip_rule (role_id, network) VALUES ($1, $2)";
                    tx.execute(text, &args![role, &*network.to_string()])?;
                }
                tx.touch(Change::Rules);
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }
}

fn entries(lists: &AllowLists) -> Vec<(Role, IpNet)> {
    Role::ALL.into_iter().flat_map(|role| lists.list(role).iter().map(move |network| (role, *network))).collect()
}

pub(crate) fn lists(sql: &Sql<'_>) -> Result<AllowLists, StoreError> {
    let rows = sql.rows("SELECT role_id, network FROM ip_rule", &[], |row| {
        // A network that cannot be read must not turn into a role without a list.
        let network = row.text(1)?.parse().map_err(|_| StoreError::damaged("unreadable network"))?;
        Ok((row.role(0)?, network))
    })?;
    Ok(rows.into_iter().collect())
}
