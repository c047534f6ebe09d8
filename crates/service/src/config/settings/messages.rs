//! Replies to messages.

use deskpass_derive::Section;

use crate::config::value::{EndpointUrl, SigningSecret};

/// Replies to messages.
#[derive(Clone, Debug, Section)]
pub struct Messages {
    /// The address of the help desk's back end that receives what employees reply to messages: the option they chose, or
    /// their own text. Each reply is a signed POST request. Requires https, except on localhost. Without it, the pages show
    /// options as plain text and have no field for a reply.
    #[setting(example = "https://helpdesk.example.com/replies")]
    pub reply_url: Option<EndpointUrl>,
    /// Signs the replies, so that the back end knows that they come from this service. The back end has the same secret.
    #[setting()]
    pub reply_secret: Option<SigningSecret>,
}
