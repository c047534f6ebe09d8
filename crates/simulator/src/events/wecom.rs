//! WeCom's events: XML in an envelope. The app's own address learns who comes into its range and who drops out of it; the other
//! events go to the contacts assistant (通讯录同步), whose address has the same form.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_platform::envelope::SealedReply;

use super::delivery::{Delivery, checked};
use super::exchange::{Answer, Outgoing};
use super::seconds;
use crate::SimulatorConfig;
use crate::event::{Change, Subject};
use crate::event_log::Attempt;

const CHECK_DEADLINE: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(5);

/// Checks an address: it must answer with the decrypted text, and nothing else.
pub(super) async fn check(delivery: &Delivery<'_>) -> Result<(), String> {
    let echo = u64::from_be_bytes(*delivery.random.first_chunk().unwrap_or(&[0; 8])).to_string();
    let request = sealed(delivery, &echo).map(|(timestamp, sealed)| {
        let mut request = request(delivery, &timestamp, &sealed);
        request.url.query_pairs_mut().append_pair("echostr", &sealed.encrypted);
        request
    });
    let judge = |answer: &Answer| {
        if answer.body == echo { Ok(()) } else { Err("the answer is not the decrypted text alone".to_owned()) }
    };
    checked(delivery.attempt(request, CHECK_DEADLINE, judge).await)
}

pub(super) async fn send(delivery: &Delivery<'_>, text: &str) -> Attempt {
    let request = sealed(delivery, text).map(|(timestamp, sealed)| {
        let (corp_id, agent_id) = (&delivery.config.corp_id, &delivery.config.agent_id);
        let encrypted = &sealed.encrypted;
        let body = format!(
            "<xml><ToUserName><![CDATA[{corp_id}]]></ToUserName><AgentID><![CDATA[{agent_id}]]></AgentID>\
             <Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>"
        );
        Outgoing { body: Some(body), ..request(delivery, &timestamp, &sealed) }
    });
    // Every answer with status 200 is right.
    delivery.attempt(request, DEADLINE, |_| Ok(())).await
}

fn sealed(delivery: &Delivery<'_>, text: &str) -> Option<(String, SealedReply)> {
    let timestamp = seconds(delivery.signed_at).to_string();
    let sealed = delivery.seal(text, &delivery.config.corp_id, &timestamp)?;
    Some((timestamp, sealed))
}

/// A request without a body.
fn request(delivery: &Delivery<'_>, timestamp: &str, sealed: &SealedReply) -> Outgoing {
    let mut url = delivery.receiver.url.clone();
    url.query_pairs_mut()
        .append_pair("msg_signature", &sealed.signature)
        .append_pair("timestamp", timestamp)
        .append_pair("nonce", &delivery.nonce);
    Outgoing { url, body: None, headers: vec![("content-type", "text/xml".to_owned())] }
}

pub(super) fn text(
    config: &SimulatorConfig,
    change: Change,
    subject: &Subject<'_>,
    now: Timestamp,
) -> Result<String, String> {
    let userid = subject.userid;
    let event = |from: &str, event: &str, more: &str| {
        let (corp_id, time) = (&config.corp_id, seconds(now));
        format!(
            "<xml><ToUserName><![CDATA[{corp_id}]]></ToUserName><FromUserName><![CDATA[{from}]]></FromUserName>\
             <CreateTime>{time}</CreateTime><MsgType><![CDATA[event]]></MsgType><Event><![CDATA[{event}]]></Event>\
             {more}</xml>"
        )
    };
    let of_app = |name: &str| event(userid, name, &format!("<AgentID>{}</AgentID>", config.agent_id));
    let of_contacts = |kind: &str, more: &str| {
        event("sys", "change_contact", &format!("<ChangeType><![CDATA[{kind}]]></ChangeType>{more}"))
    };
    let user = format!("<UserID><![CDATA[{userid}]]></UserID>");
    Ok(match change {
        Change::Joined | Change::InRange => of_app("subscribe"),
        Change::OutOfRange => of_app("unsubscribe"),
        Change::Left => of_contacts("delete_user", &user),
        Change::Changed => {
            let department = subject.person.as_ref().map_or(1, |who| who.department_id);
            of_contacts("update_user", &format!("{user}<Department><![CDATA[{department}]]></Department>"))
        }
        Change::Renamed => {
            let to = subject.to.ok_or("this change needs \"to\", the new id")?;
            of_contacts("update_user", &format!("{user}<NewUserID><![CDATA[{to}]]></NewUserID>"))
        }
        Change::DepartmentChanged => {
            let id = subject.id.ok_or("this change needs \"id\", the department")?;
            of_contacts("update_party", &format!("<Id>{id}</Id><ParentId><![CDATA[1]]></ParentId>"))
        }
        Change::CorporationRemoved => {
            let id = subject.id.ok_or("this change needs \"id\", the corporation")?;
            let kind = "<ChangeType><![CDATA[remove_corp]]></ChangeType><ChainId>chain</ChainId>";
            let corporations = format!("<CorpIds><CorpId><![CDATA[{id}]]></CorpId></CorpIds>");
            event("sys", "change_chain", &format!("{kind}{corporations}"))
        }
    })
}
