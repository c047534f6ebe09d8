//! Messages and questions to members.

use serde::{Deserialize, Serialize};

use crate::Answer;

/// A question with choices, shown to a member by the platform.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The id of the question, chosen by this service and never used again.
    pub id: &'a str,
    /// The title.
    pub title: &'a str,
    /// The text.
    pub text: &'a str,
    /// The choices, at most six.
    pub choices: &'a [Choice<'a>],
}

/// A choice of a question.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// What the platform returns when the member chooses it.
    pub key: &'a str,
    /// The text of the button.
    pub label: &'a str,
}

/// A question that was sent, so that it can be changed after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardHandle(pub String);

/// A message with one button that opens an address of this service.
#[derive(Clone, Copy, Debug)]
pub struct Invitation<'a> {
    /// The id of the message, chosen by this service and never used again. Platforms that recognise repetitions do so by it.
    pub id: &'a str,
    /// The title.
    pub title: &'a str,
    /// The text.
    pub text: &'a str,
    /// The text of the button.
    pub button: &'a str,
    /// The address that the button opens.
    pub url: &'a str,
}

/// Reaches members.
pub trait Notify: Send + Sync {
    /// Sends a text to a member of this service's own corporation.
    fn send<'a>(&'a self, userid: &'a str, text: &'a str) -> Answer<'a, ()>;

    /// Sends a member of this service's own corporation a card with one button; where the platform has no cards, a text with the address.
    fn invite<'a>(&'a self, userid: &'a str, invitation: Invitation<'a>) -> Answer<'a, ()>;

    /// Asks a member; `None` if the platform cannot ask, so that the service sends a link instead.
    fn ask<'a>(&'a self, userid: &'a str, question: Question<'a>) -> Answer<'a, Option<CardHandle>>;

    /// Replaces the buttons of a question by its outcome. The decision does not depend on it.
    fn settle<'a>(&'a self, handle: &'a CardHandle, outcome: &'a str) -> Answer<'a, ()>;
}
