//! The platform that the data belongs to: data of one platform is not opened with the settings of another.

use deskpass_auth::Error;
use deskpass_platform::PlatformKind;
use deskpass_store::{DataPlatform, DirectReadError, PlatformMismatch, Store, read_data_platform};

use super::storage::{location, mode};
use crate::config::{Settings, UserIdKind};

/// The identifier of a person on platforms where the settings leave no choice.
const ONLY_PERSON_ID: &str = "userid";

/// The data belongs to another platform than the settings.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot use {place}: {why}; {fix}")]
pub struct OtherPlatform {
    /// The location of the data.
    pub(crate) place: String,
    /// What differs.
    pub(crate) why: PlatformMismatch,
    /// What to do.
    fix: String,
}

impl OtherPlatform {
    fn new(settings: &Settings, why: PlatformMismatch) -> Self {
        let elsewhere = match settings.store.url {
            Some(_) => "choose another database with store.url",
            None => "choose another directory with --data",
        };
        let flag = match &why {
            PlatformMismatch::Kind { found, .. } if settings.development.enabled => {
                format!(" (with every command: --platform {found})")
            }
            _ => String::new(),
        };
        let fix = format!("set {}{flag}, or begin with new data: {elsewhere}", why.fitting_setting());
        Self { place: settings.data_location(), why, fix }
    }
}

/// The platform of the settings, as data records it.
pub(crate) fn data_platform(settings: &Settings) -> DataPlatform {
    let platform = &settings.platform;
    let person_id = match (platform.kind, platform.user_id) {
        // Every application has its own.
        (PlatformKind::Feishu, UserIdKind::OpenId) => {
            format!("{}:{}", platform.user_id.name(), platform.client_id.as_deref().unwrap_or_default())
        }
        (PlatformKind::Feishu, UserIdKind::UserId) => platform.user_id.name().to_owned(),
        (PlatformKind::Wecom | PlatformKind::Dingtalk, _) => ONLY_PERSON_ID.to_owned(),
    };
    DataPlatform::new(platform.kind.name(), &person_id)
}

/// What happens to new data, of which no platform is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewData {
    /// It belongs to the platform of the settings from now on.
    Claim,
    /// It stays undecided: a command may run with other settings than the service will.
    Leave,
}

/// Requires that the data belongs to the platform of the settings, if that is recorded.
pub(super) async fn require_platform(
    store: &Store,
    settings: &Settings,
    new_data: NewData,
) -> Result<Result<(), OtherPlatform>, Error> {
    let own = data_platform(settings);
    let recorded = match new_data {
        NewData::Claim => Some(store.claim_platform(own.clone()).await?),
        NewData::Leave => store.data_platform().await?,
    };
    let mismatch = recorded.and_then(|recorded| recorded.require(&own).err());
    Ok(mismatch.map_or(Ok(()), |why| Err(OtherPlatform::new(settings, why))))
}

/// The reason why the data cannot be used with these settings, if it belongs to another platform. The data is only read.
pub(crate) async fn find_mismatch(settings: &Settings) -> Result<Option<OtherPlatform>, DirectReadError> {
    let recorded = read_data_platform(&location(settings), mode(settings)).await?;
    let mismatch = recorded.and_then(|recorded| recorded.require(&data_platform(settings)).err());
    Ok(mismatch.map(|why| OtherPlatform::new(settings, why)))
}
